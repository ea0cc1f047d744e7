package toolsource

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Result of a call. Value is what a program sees; Content is what a model sees, nothing dropped.
type Result struct {
	Value     any            // nil bool int64 float64 json.Number (integers outside int64 only) string []any map[string]any Blob
	Content   []Content      // text, image, audio, resource, resource link: in order; nil where there is only a value
	Meta      map[string]any // what the source says about the result (MCP _meta)
	Truncated bool           // something was cut to a limit
}

// Blob is binary data in a Value.
type Blob struct {
	MIMEType string `json:"mimeType,omitempty"`
	URI      string `json:"uri,omitempty"` // where it is from; may be ""
	Data     []byte `json:"data"`
}

// ContentType is the word by which MCP tells content blocks apart.
type ContentType string

// The kinds of content block.
const (
	ContentText         ContentType = "text"
	ContentImage        ContentType = "image"
	ContentAudio        ContentType = "audio"
	ContentResource     ContentType = "resource"      // its text or bytes are here
	ContentResourceLink ContentType = "resource_link" // only its address is here; nothing fetches it
)

// Content is one block of a result. Type says which fields are set; a block of a kind not known here has
// only Type and Raw.
type Content struct {
	Type        ContentType
	Text        string          // text; resource, if it is text
	Data        []byte          // image, audio; resource, if it is bytes
	MIMEType    string          // image, audio, resource, resource link
	URI         string          // resource, resource link
	Name        string          // resource link
	Title       string          // resource link
	Description string          // resource link
	Size        *int64          // resource link, in bytes; nil: unknown
	Annotations json.RawMessage // as the server gave them; nil: none
	Meta        map[string]any  // the block's _meta
	Raw         json.RawMessage // a block of an unknown kind, as the server gave it
}

// MarshalJSON writes the block in the form of MCP.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.Raw != nil {
		return c.Raw, nil
	}
	m := map[string]any{"type": c.Type}
	set := func(into map[string]any, key, v string) {
		if v != "" {
			into[key] = v
		}
	}
	switch c.Type {
	case ContentText:
		m["text"] = c.Text
	case ContentImage, ContentAudio:
		m["data"] = nonNil(c.Data)
		set(m, "mimeType", c.MIMEType)
	case ContentResource:
		r := map[string]any{"uri": c.URI}
		if c.Data != nil {
			r["blob"] = c.Data
		} else {
			r["text"] = c.Text
		}
		set(r, "mimeType", c.MIMEType)
		m["resource"] = r
	case ContentResourceLink:
		m["uri"] = c.URI
		m["name"] = c.Name
		set(m, "title", c.Title)
		set(m, "description", c.Description)
		set(m, "mimeType", c.MIMEType)
		if c.Size != nil {
			m["size"] = *c.Size
		}
	}
	if c.Annotations != nil {
		m["annotations"] = c.Annotations
	}
	if c.Meta != nil {
		m["_meta"] = c.Meta
	}
	return json.Marshal(m)
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// Value makes a result for sources that have only a value. It brings v into the types that Result.Value
// lists: Go integers become int64, or json.Number where they do not fit; slices and string-keyed maps
// become []any and map[string]any; []byte becomes a Blob; structs and whatever else encoding/json can
// write become what it reads back, integers exact. What cannot be written at all (a channel) becomes its fmt
// text. NaN and Inf stay what they are: a program may use them, and only JSON cannot.
func Value(v any) Result { return Result{Value: canonical(v)} }

// Text is the result as text for a model: the text of its blocks, one after another on lines of their own,
// or, where no block has text, its Value: a string as it is, nil as "", anything else as JSON.
func (r Result) Text() string {
	var texts []string
	for _, c := range r.Content {
		if (c.Type == ContentText || c.Type == ContentResource) && c.Text != "" {
			texts = append(texts, c.Text)
		}
	}
	if len(texts) > 0 {
		return strings.Join(texts, "\n")
	}
	return valueText(r.Value)
}

// Blocks is Content, or one text block of the value where the result has only a value.
func (r Result) Blocks() []Content {
	if r.Content != nil || r.Value == nil {
		return r.Content
	}
	if b, ok := r.Value.(Blob); ok {
		uri := b.URI
		return []Content{{Type: ContentResource, URI: uri, MIMEType: b.MIMEType, Data: nonNil(b.Data)}}
	}
	return []Content{{Type: ContentText, Text: valueText(r.Value)}}
}

func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
