package sources

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// TrustStore remembers which host files somebody has agreed to, by path and content: a file that was changed
// has to be agreed to again. It is one file, written as a whole, for its owner's eyes only. Several
// processes may use one; the last that writes wins.
//
//	store := sources.NewTrustStore("")
//	cfg, err := sources.Load(path, &sources.Options{TrustHostFile: store.Trusts})
//	for _, h := range cfg.HostFiles { // show what h would start, ask, and then
//		err = store.Trust(h)
//	}
type TrustStore struct {
	path string
	turn chan struct{} // room for one: who changes the file
}

// NewTrustStore uses a file, which need not exist; "": toolsource/trusted.json in os.UserConfigDir.
func NewTrustStore(path string) *TrustStore { return &TrustStore{path, make(chan struct{}, 1)} }

// trusted is the content of the file.
type trusted struct {
	Version int               `json:"version"`
	Files   map[string]string `json:"files"` // SHA-256 of the content, by path
}

const trustedVersion = 1

func (t *TrustStore) file() (string, error) {
	if t.path != "" {
		return t.path, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("sources: where to keep what is trusted is not known (name a file): %w", err)
	}
	return filepath.Join(dir, "toolsource", "trusted.json"), nil
}

func (t *TrustStore) read() (trusted, error) {
	kept := trusted{Version: trustedVersion, Files: map[string]string{}}
	path, err := t.file()
	if err != nil {
		return kept, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err != nil {
		return kept, fmt.Errorf("sources: what is trusted: %w", err)
	}
	var found trusted
	if err := json.Unmarshal(data, &found); err != nil || found.Version != trustedVersion {
		return kept, fmt.Errorf("sources: %s is not of a kind that this version writes (remove it, and agree anew)", path)
	}
	if found.Files != nil {
		kept.Files = found.Files
	}
	return kept, nil
}

// Agreement is what a TrustStore knows of a file.
type Agreement string

// The agreements.
const (
	NotAgreed       Agreement = "not agreed"
	Agreed          Agreement = "agreed"
	AgreedToAnother Agreement = "agreed to another content" // it was changed since
)

// Trusts reports whether a file was agreed to as it is now. A store that cannot be read trusts nothing;
// Agreement says why.
func (t *TrustStore) Trusts(h HostFile) bool {
	a, err := t.Agreement(h)
	return err == nil && a == Agreed
}

// Agreement is what is known of a file. The error is of a store that cannot be read.
func (t *TrustStore) Agreement(h HostFile) (Agreement, error) {
	kept, err := t.read()
	switch sum := kept.Files[h.Path]; {
	case err != nil || sum == "" || h.Sum == "":
		return NotAgreed, err
	case sum != h.Sum:
		return AgreedToAnother, nil
	}
	return Agreed, nil
}

// Trust agrees to a file as it was read.
func (t *TrustStore) Trust(h HostFile) error {
	if h.Path == "" || h.Sum == "" {
		return errors.New("sources: that file was not read, so there is nothing to agree to")
	}
	return t.change(func(files map[string]string) { files[h.Path] = h.Sum })
}

// Forget takes an agreement back.
func (t *TrustStore) Forget(path string) error {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return t.change(func(files map[string]string) { delete(files, path) })
}

func (t *TrustStore) change(f func(files map[string]string)) error {
	if t.turn != nil { // nil in one that nobody made by NewTrustStore
		t.turn <- struct{}{}
		defer func() { <-t.turn }()
	}
	kept, err := t.read()
	if err != nil {
		return err
	}
	f(kept.Files)
	data, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	path, err := t.file()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("sources: what is trusted: %w", err)
	}
	return replaceFile(path, append(data, '\n'))
}

// replaceFile writes a file so that it is there as it was or as it is to be.
func replaceFile(path string, data []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".trusted-*")
	if err != nil {
		return fmt.Errorf("sources: what is trusted: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data) // made with mode 0600
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	return err
}
