package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolsource/toolsource/sources/hostconfig"
)

// writeEntries writes servers as a configuration of our own, for its owner's eyes only: it may hold secrets.
// A file that is there is replaced only with force, and then as a whole. The notes are what the
// configuration cannot say.
func writeEntries(path string, entries []hostconfig.Entry, force bool) ([]hostconfig.Note, error) {
	text, notes := hostconfig.WriteTOML(entries)
	write := writeNew
	if force {
		write = replace
	}
	err := write(path, text)
	if errors.Is(err, fs.ErrExist) {
		return nil, fileError{fmt.Errorf("%s exists already and is left as it is (give --write another name, or replace it with --force)", path)}
	}
	if err != nil {
		return nil, fileError{fmt.Errorf("cannot write the configuration: %w", err)}
	}
	return notes, nil
}

func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
