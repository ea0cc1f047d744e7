package toolsource

import (
	"strings"
	"unicode"
)

// FileName is a name under which a host may keep the block's bytes: the last part of its URI, or of its
// Name, at most 150 bytes with its ending kept, without a character that leaves a folder or means something
// to a file system; "resource" and an ending by its MIME type where there is none. It is a name and never a
// path.
func (c Content) FileName() string {
	name := c.Name // as it is: a ? or a % in it means nothing
	if c.URI != "" {
		name, _, _ = strings.Cut(c.URI, "?")
		name, _, _ = strings.Cut(name, "#")
		name = unescapePercent(name)
	}
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf) || strings.ContainsRune(`/\:*?"<>|`, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	name = strings.Trim(name, " .")
	stem, _, _ := strings.Cut(name, ".")
	if name == "" || deviceNames[strings.ToUpper(strings.TrimRight(stem, " "))] {
		return "resource" + endingOf(c.MIMEType)
	}
	if len(name) <= mostFileName {
		return name
	}
	ending := ""
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= mostEnding {
		ending = name[i:]
	}
	return strings.TrimRight(wholeRunes(name[:mostFileName-len(ending)]), " .") + ending
}

const mostFileName, mostEnding = 150, 12

// deviceNames are no files on Windows, whatever their ending.
var deviceNames = map[string]bool{
	"CON": true, "PRN": true, "AUX": true, "NUL": true, "CONIN$": true, "CONOUT$": true,
	"COM\u00b9": true, "COM\u00b2": true, "COM\u00b3": true, "LPT\u00b9": true, "LPT\u00b2": true, "LPT\u00b3": true,
	"COM1": true, "COM2": true, "COM3": true, "COM4": true, "COM5": true, "COM6": true, "COM7": true, "COM8": true, "COM9": true,
	"LPT1": true, "LPT2": true, "LPT3": true, "LPT4": true, "LPT5": true, "LPT6": true, "LPT7": true, "LPT8": true, "LPT9": true,
}

var endings = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/jpg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
	"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/wave": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg",
	"application/pdf": ".pdf", "application/json": ".json", "application/zip": ".zip",
	"text/plain": ".txt", "text/html": ".html", "text/markdown": ".md", "text/csv": ".csv",
}

func endingOf(mimeType string) string {
	mimeType, _, _ = strings.Cut(mimeType, ";")
	if e, ok := endings[strings.ToLower(strings.TrimSpace(mimeType))]; ok {
		return e
	}
	return ".bin"
}

// unescapePercent undoes %XX where it is well formed, once.
func unescapePercent(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, lo := hexValue(s[i+1]), hexValue(s[i+2])
			if hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
