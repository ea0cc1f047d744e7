package toolschema

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxName is the longest name made here, in bytes.
const MaxName = 64

// hashDigits are the lengths of the hash that a name carries: none, and then more each time that it still
// equals another.
var hashDigits = [...]int{0, 8, 16, 32, 56}

// Names gives each wire name an identifier for programs, at the same index: valid in Python, Starlark,
// JavaScript and Go, no longer than MaxName, different from every other of the list, and the same whatever
// the list's order.
//
// A wire name that is such an identifier is kept. Otherwise every character but ASCII letters, digits and
// underscores becomes an underscore, a leading digit gets one in front, and a reserved word one at its end;
// what has no letter and no digit left is called tool. A hash of the wire name alone is appended where the
// name had to be cut, where nothing of it was left, or where another of the list would have the same name;
// then all of those carry one.
//
// An entry is "" where the wire name is empty or stood in the list before: the caller leaves that tool out
// and reports it.
func Names(wire []string) []string {
	return assign(wire, identifier, func(w string) [32]byte { return sha256.Sum256([]byte(w)) })
}

// Qualified gives each wire name of a server its name for models, mcp__server__tool, by the rules of Names;
// the hash is one of the server's id and the wire name. A server id that has two underscores in a row, or
// one at either end, once it is cleaned, is shortened to single ones and carries a hash of its own, so that
// a name can belong to one pair of server and tool only. others are the ids of the other servers, if there
// are any: where one of them cleans to the same word, the id carries its hash as well.
func Qualified(server string, wire []string, others ...string) []string {
	prefix := "mcp__" + serverWord(server, others) + "__"
	return assign(wire,
		func(w string) (string, bool) {
			c, _ := cleaned(w)
			return prefix + c, false
		},
		func(w string) [32]byte { return sha256.Sum256([]byte(server + "\x00" + w)) })
}

// serverWord is what stands for a server in its tools' names: a word without two underscores in a row or one
// at either end, unlike that of any other server, also where another's comes to it by its hash.
func serverWord(server string, others []string) string {
	ids := []string{server}
	for _, o := range others {
		if o != server {
			ids = append(ids, o)
		}
	}
	for i, id := range ids {
		if id == "" {
			ids[i] = "\x00" // assign gives no name to nothing
		}
	}
	return assign(ids, serverBase, func(id string) [32]byte { return sha256.Sum256([]byte(strings.TrimPrefix(id, "\x00"))) })[0]
}

func serverBase(id string) (base string, hashed bool) {
	word, letters := cleaned(id)
	if !letters {
		return "server", true
	}
	parts := strings.FieldsFunc(word, func(r rune) bool { return r == '_' })
	base = strings.Join(parts, "_")
	return base, base != word
}

func digest(sum [32]byte) string { return hex.EncodeToString(sum[:]) }

// A candidate is a wire name on its way to a name.
type candidate struct {
	at    int // index in the list
	base  string
	level int // index in hashDigits
	hash  string
	same  *candidate // the next that has the same name
}

// assign gives every wire name its base, and a longer and longer hash to all that have the same name,
// until no two have. It goes in rounds over sets, so the order of the list does not matter.
func assign(wire []string, base func(string) (string, bool), sum func(string) [32]byte) []string {
	if names, ok := distinct(wire, base); ok {
		return names
	}
	names := make([]string, len(wire))
	held := make(map[string]*candidate, len(wire))
	seen := make(map[string]bool, len(wire))
	all := make([]candidate, len(wire))
	moved := make([]*candidate, 0, len(wire))
	for i, w := range wire {
		if w == "" || seen[w] {
			continue
		}
		seen[w] = true
		c := &all[i]
		c.at = i
		var empty bool
		if c.base, empty = base(w); empty || len(c.base) > MaxName {
			c.level = 1
		}
		moved = append(moved, c)
	}
	for len(moved) > 0 {
		for _, c := range moved {
			if c.level > 0 && c.hash == "" {
				c.hash = digest(sum(wire[c.at]))
			}
			name := c.name()
			names[c.at], c.same, held[name] = name, held[name], c
		}
		touched := moved
		moved = nil
		for _, c := range touched {
			name := names[c.at]
			first := held[name]
			if first == nil || first.same == nil {
				continue
			}
			delete(held, name)
			for s := first; s != nil; s = s.same {
				if s.level++; s.level == len(hashDigits) { // two hashes alike: not with SHA-256
					names[s.at] = ""
					continue
				}
				moved = append(moved, s)
			}
		}
	}
	return names
}

// distinct is assign for a list in which every base is a name as it stands, which most are; ok is false
// for any other.
func distinct(wire []string, base func(string) (string, bool)) (names []string, ok bool) {
	names = make([]string, len(wire))
	held := make(map[string]struct{}, len(wire))
	for i, w := range wire {
		if w == "" {
			return nil, false
		}
		name, empty := base(w)
		names[i], held[name] = name, struct{}{}
		if empty || len(name) > MaxName || len(held) <= i { // the last: it is held already
			return nil, false
		}
	}
	return names, true
}

func (c *candidate) name() string {
	digits := hashDigits[c.level]
	if digits == 0 {
		return c.base
	}
	return c.base[:min(len(c.base), MaxName-1-digits)] + "_" + c.hash[:digits]
}

// identifier is the base of a wire name; empty says that nothing of the wire name is in it.
func identifier(w string) (base string, empty bool) {
	c, letters := cleaned(w)
	switch {
	case c == w && c != "_" && (c[0] < '0' || c[0] > '9') && !reserved[c]:
		return c, false
	case !letters:
		return "tool", true
	case c[0] >= '0' && c[0] <= '9':
		c = "_" + c
	}
	if reserved[c] {
		c += "_"
	}
	return c, false
}

// cleaned replaces every character that no identifier has; letters says whether a letter or digit is left.
func cleaned(w string) (c string, letters bool) {
	c = strings.Map(func(r rune) rune {
		if isLetter(r) {
			return r
		}
		return '_'
	}, w)
	return c, strings.ContainsFunc(c, isLetter)
}

// isLetter reports whether r is an ASCII letter or digit.
func isLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// reserved are the words that Python, Starlark, JavaScript or Go keep for themselves.
var reserved = func() map[string]bool {
	m := map[string]bool{}
	for _, words := range [...]string{
		// Python, and the name that it lets nobody give to anything
		`__debug__ False None True and as assert async await break class continue def del elif else except finally for
		from global if import in is lambda nonlocal not or pass raise return try while with yield`,
		// Starlark
		`load`,
		// JavaScript, strict mode and modules included, and the property that changes what an object is
		`__proto__ arguments await break case catch class const continue debugger default delete do else enum eval export
		extends false finally for function if implements import in instanceof interface let new null package
		private protected public return static super switch this throw true try typeof var void while with yield`,
		// Go
		`break case chan const continue default defer else fallthrough for func go goto if import interface map
		package range return select struct switch type var`,
	} {
		for _, w := range strings.Fields(words) {
			m[w] = true
		}
	}
	return m
}()
