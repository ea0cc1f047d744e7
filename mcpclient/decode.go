package mcpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/toolsource/toolsource"
)

// decoded is the answer to a tools/call.
type decoded struct {
	result  toolsource.Result
	isError bool
	gone    bool     // it was not called, since the server does not list it any more
	twice   bool     // it was not sent, since it had been sent twice
	notes   []string // what was odd and was put right or kept raw; none of it is fatal
}

func (d *decoded) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// decodeResult reads the raw result of a tools/call. With unwrap, structured content of the form
// {"result": x} has the value x. One odd block costs only itself; an error means that the whole is no
// result. This is the only place that reads results.
func decodeResult(raw []byte, unwrap bool) (decoded, error) {
	var d decoded
	m, err := object(raw)
	if err != nil {
		return d, fmt.Errorf("the result of the call %w", err)
	}
	d.readMembers(m, unwrap)
	return d, nil
}

func (d *decoded) readMembers(m map[string]json.RawMessage, unwrap bool) {
	if legacy, ok := m["toolResult"]; ok && !present(m["content"]) && !present(m["structuredContent"]) {
		d.readLegacy(m, legacy, unwrap)
		return
	}
	d.isError = d.readFlag(m["isError"])
	d.readMeta(m["_meta"])
	values := d.readContent(m["content"])
	if structured := m["structuredContent"]; present(structured) {
		d.result.Value = exact(structured)
		if in, ok := d.result.Value.(map[string]any); ok && unwrap && len(in) == 1 {
			if x, ok := in["result"]; ok {
				d.result.Value = x
			}
		}
		return
	}
	d.result.Value = contentValue(d.result.Content, values)
}

// readLegacy reads the form of the first protocol revisions: the result stands in a member of its own.
func (d *decoded) readLegacy(m map[string]json.RawMessage, legacy json.RawMessage, unwrap bool) {
	d.note("the result has the old form toolResult")
	if in, err := object(legacy); err == nil && (present(in["content"]) || present(in["structuredContent"])) {
		for _, k := range []string{"isError", "_meta"} {
			if _, ok := in[k]; !ok && m[k] != nil {
				in[k] = m[k]
			}
		}
		d.readMembers(in, unwrap)
		return
	}
	d.isError = d.readFlag(m["isError"])
	d.readMeta(m["_meta"])
	if present(legacy) {
		d.result.Value = exact(legacy)
	}
}

// readFlag reads isError. Whatever is neither true nor false counts as an error, so that no failure passes
// for a success.
func (d *decoded) readFlag(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false":
		return false
	case "true":
		return true
	}
	d.note("isError is %s, which is no boolean; taken as an error", clip(raw))
	return true
}

func (d *decoded) readMeta(raw json.RawMessage) {
	if !present(raw) {
		return
	}
	if m, ok := exact(raw).(map[string]any); ok {
		d.result.Meta = m
		return
	}
	d.note("_meta is no object")
}

// readContent reads the blocks, and the value of each.
func (d *decoded) readContent(raw json.RawMessage) (values []any) {
	if !present(raw) {
		return nil
	}
	var blocks []json.RawMessage
	switch raw[0] {
	case '[':
		if err := json.Unmarshal(raw, &blocks); err != nil {
			d.note("content does not parse")
			return nil
		}
	default:
		d.note("content is no list; taken as one block")
		blocks = []json.RawMessage{raw}
	}
	d.result.Content = make([]toolsource.Content, len(blocks))
	values = make([]any, len(blocks))
	for i, b := range blocks {
		c, v, err := readBlock(b)
		if err != nil {
			d.note("content block %d %v; kept raw", i+1, err)
			c = toolsource.Content{Type: c.Type, MIMEType: c.MIMEType, Raw: bytes.Clone(b)}
			v = exact(b)
		}
		d.result.Content[i], values[i] = c, v
	}
	return values
}

// contentValue is what a program sees of blocks: of one text its string, of several a list of strings, of
// any others the blocks' values in order, of none nil.
func contentValue(content []toolsource.Content, values []any) any {
	switch {
	case len(content) == 0:
		return nil
	case len(content) == 1 && content[0].Type == toolsource.ContentText && content[0].Raw == nil:
		return values[0]
	}
	return values
}

const octetStream = "application/octet-stream"

// readBlock reads one block, and the value of it: a string, a Blob or a map. With an error, the block has
// only what could be read.
func readBlock(raw json.RawMessage) (c toolsource.Content, v any, err error) {
	m, err := object(raw)
	if err != nil {
		return c, nil, err
	}
	var f fields
	c.Type = toolsource.ContentType(f.text(m, "type"))
	c.Annotations = f.object(m, "annotations")
	c.Meta = f.meta(m)
	switch c.Type {
	case toolsource.ContentText:
		c.Text = f.need(m, "text")
		v = c.Text
	case toolsource.ContentImage, toolsource.ContentAudio:
		c.MIMEType = f.mimeType(m, octetStream)
		c.Data = f.bytes(m, "data")
		v = toolsource.Blob{MIMEType: c.MIMEType, Data: c.Data}
	case toolsource.ContentResource:
		v = readResource(&c, m, &f)
	case toolsource.ContentResourceLink:
		c.URI = f.need(m, "uri")
		c.Name, c.Title, c.Description = f.text(m, "name"), f.text(m, "title"), f.text(m, "description")
		c.MIMEType = f.mimeType(m, "")
		c.Size = f.size(m)
		v = exact(raw)
	case "":
		f.fail("has no type")
	default:
		f.fail("has the unknown type %q", clip([]byte(c.Type)))
	}
	return c, v, f.err
}

func readResource(c *toolsource.Content, m map[string]json.RawMessage, f *fields) any {
	r, err := object(m["resource"])
	if err != nil {
		f.fail("has a resource that %v", err)
		return nil
	}
	c.URI = f.text(r, "uri")
	if meta := f.meta(r); c.Meta == nil {
		c.Meta = meta
	}
	if present(r["blob"]) {
		c.MIMEType = f.mimeType(r, octetStream)
		c.Data = f.bytes(r, "blob")
		return toolsource.Blob{MIMEType: c.MIMEType, URI: c.URI, Data: c.Data}
	}
	c.MIMEType = f.mimeType(r, "")
	c.Text = f.need(r, "text")
	v := map[string]any{"type": string(c.Type), "uri": c.URI, "text": c.Text}
	if c.MIMEType != "" {
		v["mimeType"] = c.MIMEType
	}
	return v
}

// fields reads members of an object and keeps the first complaint.
type fields struct{ err error }

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// text is a string member, "" if it is absent or null.
func (f *fields) text(m map[string]json.RawMessage, key string) string {
	raw := m[key]
	if !present(raw) {
		return ""
	}
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		f.fail("has a member %s that is no string", key)
	}
	return s
}

// need is a string member that has to be there.
func (f *fields) need(m map[string]json.RawMessage, key string) string {
	if !present(m[key]) {
		f.fail("has no %s", key)
	}
	return f.text(m, key)
}

func (f *fields) mimeType(m map[string]json.RawMessage, absent string) string {
	if t := f.text(m, "mimeType"); t != "" {
		return t
	}
	return absent
}

func (f *fields) object(m map[string]json.RawMessage, key string) json.RawMessage {
	raw := m[key]
	if !present(raw) {
		return nil
	}
	if raw[0] != '{' {
		f.fail("has a member %s that is no object", key)
		return nil
	}
	return bytes.Clone(raw)
}

func (f *fields) meta(m map[string]json.RawMessage) map[string]any {
	raw := f.object(m, "_meta")
	if raw == nil {
		return nil
	}
	v, _ := exact(raw).(map[string]any)
	return v
}

func (f *fields) size(m map[string]json.RawMessage) *int64 {
	raw := m["size"]
	if !present(raw) {
		return nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		f.fail("has a size that is no integer")
		return nil
	}
	return &n
}

// bytes reads base64, padded or not, in either alphabet. It is never nil where there is no error.
func (f *fields) bytes(m map[string]json.RawMessage, key string) []byte {
	s := f.need(m, key)
	if f.err != nil {
		return nil
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if b, err := enc.DecodeString(s); err == nil {
			return b
		}
	}
	f.fail("has %s that is not base64", key)
	return nil
}

// present reports whether a member is there and not null.
func present(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// object reads the members of an object, keys as they are written: encoding/json would match a struct's
// fields whatever their case.
func object(raw []byte) (map[string]json.RawMessage, error) {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return nil, errors.New("is empty, want an object")
	}
	if raw[0] != '{' {
		return nil, fmt.Errorf("is %s, want an object", clip(raw))
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("does not parse: %w", err)
	}
	return m, nil
}

// exact reads any JSON into the types of a Result's Value: integers are int64 where they fit, else
// json.Number. What does not parse is nil.
func exact(raw []byte) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil
	}
	return exactNumbers(v)
}

func exactNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return exactNumber(v)
	case []any:
		for i, e := range v {
			v[i] = exactNumbers(e)
		}
	case map[string]any:
		for k, e := range v {
			v[k] = exactNumbers(e)
		}
	}
	return v
}

func exactNumber(n json.Number) any {
	s := n.String()
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i
	}
	for i := range len(s) {
		if c := s[i]; c == '.' || c == 'e' || c == 'E' {
			if f, err := strconv.ParseFloat(s, 64); err == nil {
				return f
			}
			break
		}
	}
	return n
}

// clip shortens a server's text for a message.
func clip(raw []byte) string {
	const most = 60
	if len(raw) <= most {
		return string(bytes.ToValidUTF8(raw, nil))
	}
	return string(bytes.ToValidUTF8(raw[:most], nil)) + "..."
}
