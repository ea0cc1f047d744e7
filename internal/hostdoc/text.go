package hostdoc

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/toolsource/toolsource/internal/tomldoc"
)

const asUTF8 = "save it as UTF-8"

// text is the file as UTF-8 without a byte order mark.
func (d *reading) text(data []byte) (string, *tomldoc.Problem) {
	if len(data) > MaxFile {
		return "", d.fail(0, 0, "", "is larger than %d MiB", MaxFile>>20)
	}
	text := string(data)
	switch {
	case strings.HasPrefix(text, "\xff\xfe\x00\x00"), strings.HasPrefix(text, "\x00\x00\xfe\xff"):
		return "", d.fail(1, 1, asUTF8, "is UTF-32 text")
	case strings.HasPrefix(text, "\xff\xfe"):
		return d.utf16(data[2:], binary.LittleEndian, "little")
	case strings.HasPrefix(text, "\xfe\xff"):
		return d.utf16(data[2:], binary.BigEndian, "big")
	case strings.HasPrefix(text, "\ufeff"):
		text = strings.TrimPrefix(text, "\ufeff")
		d.note(1, 1, "", "save it without one: some programs cannot read it", "begins with a byte order mark, which is skipped")
	case len(text) >= 2 && (text[0] == 0) != (text[1] == 0):
		return "", d.fail(1, 1, asUTF8, "is UTF-16 text without a byte order mark")
	}
	return d.clean(text)
}

// clean refuses text that is not UTF-8 or has NUL characters.
func (d *reading) clean(text string) (string, *tomldoc.Problem) {
	if !utf8.ValidString(text) {
		for i := 0; ; {
			r, n := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && n <= 1 {
				line, col := tomldoc.LineCol(text, i)
				return "", d.fail(line, col, asUTF8, "is not UTF-8 text")
			}
			i += n
		}
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		line, col := tomldoc.LineCol(text, i)
		return "", d.fail(line, col, "the file may be damaged; write it anew", "holds a NUL character")
	}
	return text, nil
}

func (d *reading) utf16(data []byte, order binary.ByteOrder, name string) (string, *tomldoc.Problem) {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	text := string(utf16.Decode(units))
	broken := len(data)%2 != 0
	if !broken {
		broken = len(utf16.Encode([]rune(text))) != len(units) || strings.ContainsRune(text, utf8.RuneError)
	}
	if broken {
		return "", d.fail(1, 1, asUTF8, "is UTF-16 text that is damaged")
	}
	d.note(1, 1, "", asUTF8+": some programs cannot read it", "is UTF-16 text (%s-endian)", name)
	if len(text) > MaxFile {
		return "", d.fail(0, 0, "", "is larger than %d MiB", MaxFile>>20)
	}
	return d.clean(text)
}
