package toolsource_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
)

// TestExportedAPI compares every exported declaration of the public packages with testdata/api.txt, the
// record of what other programs compile against.
func TestExportedAPI(t *testing.T) {
	dirs := []string{".", "grade", "mcpclient", "mcpclient/mcptest", "sources"}
	subs, err := filepath.Glob("sources/*")
	if err != nil {
		t.Fatal(err)
	}
	dirs = append(dirs, subs...)
	var b strings.Builder
	for _, dir := range dirs {
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() || filepath.Base(dir) == "testdata" {
			continue
		}
		decls := exported(t, dir)
		if len(decls) == 0 {
			continue
		}
		fmt.Fprintf(&b, "package %s\n\n%s\n\n", dir, strings.Join(decls, "\n"))
	}
	golden(t, "testdata/api.txt", b.String())
}

// exported lists a package's exported declarations, without comments and bodies, sorted.
func exported(t *testing.T, dir string) []string {
	t.Helper()
	fset := token.NewFileSet()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var decls []string
	add := func(n any) {
		var out bytes.Buffer
		if err := (&printer.Config{Mode: printer.UseSpaces, Tabwidth: 4}).Fprint(&out, fset, n); err != nil {
			t.Fatal(err)
		}
		decls = append(decls, out.String())
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_windows.go") || strings.HasSuffix(name, "_other.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !ast.FileExports(f) {
			continue
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && !ast.IsExported(receiver(d)) {
					continue
				}
				d.Body, d.Doc = nil, nil
				add(d)
			case *ast.GenDecl:
				if d.Tok == token.IMPORT {
					continue
				}
				d.Doc = nil
				for _, s := range d.Specs {
					strip(s)
				}
				add(d)
			}
		}
	}
	sort.Strings(decls)
	return slices.Compact(decls)
}

// receiver is the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

func strip(s ast.Spec) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
			if len(n.Names) == len(n.Values) && n.Names[0].Name != strings.ToUpper(n.Names[0].Name) {
				for i, v := range n.Values {
					if _, lit := v.(*ast.BasicLit); !lit {
						if _, ok := v.(*ast.BinaryExpr); !ok {
							n.Values[i] = &ast.Ident{Name: "..."}
						}
					}
				}
			}
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
}
