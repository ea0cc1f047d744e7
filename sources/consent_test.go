package sources

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestTrustStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "trusted.json")
	store := NewTrustStore(path)
	one, two := HostFile{Path: "/x/one.json", Sum: "11"}, HostFile{Path: "/x/two.json", Sum: "22"}
	if store.Trusts(one) {
		t.Error("trusted before anybody agreed")
	}
	if err := store.Forget(one.Path); err != nil {
		t.Error(err)
	}
	for _, h := range []HostFile{one, two} {
		if err := store.Trust(h); err != nil {
			t.Fatal(err)
		}
	}
	if !store.Trusts(one) || !NewTrustStore(path).Trusts(two) {
		t.Error("what was agreed to is forgotten")
	}
	changed := one
	changed.Sum = "12"
	if store.Trusts(changed) {
		t.Error("a file that changed is trusted")
	}
	for _, tt := range []struct {
		h    HostFile
		want Agreement
	}{{one, Agreed}, {changed, AgreedToAnother}, {HostFile{Path: "/x/three.json", Sum: "33"}, NotAgreed}} {
		if got, err := store.Agreement(tt.h); got != tt.want || err != nil {
			t.Errorf("%s: %s, %v", tt.h.Path, got, err)
		}
	}
	if err := store.Forget(one.Path); err != nil || store.Trusts(one) || !store.Trusts(two) {
		t.Error("Forget", err)
	}
	if err := store.Trust(HostFile{Path: "/x/unread"}); err == nil {
		t.Error("a file that was not read can be agreed to")
	}
	if st, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Error(st.Mode(), err)
	}
	for _, text := range []string{"{", `{"version":2,"files":{"/x/one.json":"11"}}`, ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if store.Trusts(one) {
			t.Errorf("%q: a store that cannot be read trusts", text)
		}
		if _, err := store.Agreement(one); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: nobody is told: %v", text, err)
		}
		if err := store.Trust(one); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: it is written over: %v", text, err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("%v %v: files are left behind", left, err)
	}
}

// One that nobody made by NewTrustStore keeps its agreements where the others do, and waits for nobody.
func TestTrustStoreZeroValue(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("AppData", t.TempDir())
	var store TrustStore
	h := HostFile{Path: "/x/f.json", Sum: "11"}
	if err := store.Trust(h); err != nil || !NewTrustStore("").Trusts(h) {
		t.Error(err)
	}
}

// A reader never sees half a store.
func TestTrustStoreIsWrittenAsAWhole(t *testing.T) {
	store := NewTrustStore(filepath.Join(t.TempDir(), "trusted.json"))
	h := HostFile{Path: "/x/f.json", Sum: strings.Repeat("a", 64)}
	if err := store.Trust(h); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if err := store.Trust(h); err != nil {
					t.Error(err)
				}
				if !store.Trusts(h) {
					t.Error("half a file")
				}
			}
		})
	}
	wg.Wait()
}
