package hostconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestScratch(t *testing.T) {
	fs, _ := filepath.Glob("/work/shared/cases/[0-2]*")
	fs = append(fs, "/work/shared/cases/24-interpolation.json")
	for _, f := range fs {
		data, _ := os.ReadFile(f)
		x, err := Parse(filepath.Base(f), data, nil)
		if err != nil {
			fmt.Println("ERR", err)
			continue
		}
		fmt.Println("=====", x.Name, x.Format)
		for _, e := range x.Entries {
			fmt.Printf("  %s|%s|%s|%q|env=%v|file=%s|cwd=%s|%s|hdr=%v|c=%v t=%v|on=%v req=%v|allow=%q deny=%q|%+v line %d\n", e.ID, e.Name+"/"+e.Transport, e.Command, e.Args, rev(e.Env), e.EnvFile, e.Cwd, e.URL, rev(e.Headers), e.ConnectTimeout, e.CallTimeout, e.Enabled, e.Required, e.Allow, e.Deny, e.Approvals, e.Line)
		}
		for _, n := range x.Report {
			if n.Action != "taken" || n.Field != "" {
				fmt.Println("   -", n)
			}
		}
	}
}
