package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
)

// ElicitRequest is what a server wants to know from the user.
type ElicitRequest struct {
	Server  string
	Call    string          // wire name of the tool whose call caused it; "": not known, or there is none
	Mode    string          // ElicitForm or ElicitURL
	Message string          // for the user, without control characters
	Schema  json.RawMessage // form: of the values, as the server sent it; nil: none are wanted
	URL     string          // url: to open after the user's consent, http or https; never opened here
	ID      string          // url: see Handlers.Elicited
}

// The modes of an ElicitRequest.
const (
	ElicitForm = "form" // values are asked for
	ElicitURL  = "url"  // an address is to be opened
)

// ElicitAction is what the user did.
type ElicitAction string

// The actions.
const (
	ElicitAccept  ElicitAction = "accept"
	ElicitDecline ElicitAction = "decline" // said no
	ElicitCancel  ElicitAction = "cancel"  // gave no answer
)

// ElicitResult is the user's answer.
type ElicitResult struct {
	Action ElicitAction // any other than the three counts as ElicitDecline
	// Content are the values of a form that was accepted, by property. What is left out and has a default in
	// the schema gets it. Values that do not fit the schema are not sent: the request is declined, and the log
	// says why.
	Content map[string]any
}

// elicit answers elicitation/create.
func (a *asked) elicit(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	r, err := a.readElicit(params)
	if err != nil {
		return nil, err
	}
	form, err := readForm(r.Schema)
	if err != nil {
		return nil, invalid("params: requestedSchema %v", err)
	}
	if r.Mode == ElicitURL && a.set.offers&offerURL == 0 {
		return elicited(ElicitDecline, nil), nil
	}
	res, err := handle(ctx, a, methodElicit, a.limits.Elicitation, func(ctx context.Context) (*ElicitResult, error) {
		return a.srv.opt.Handlers.Elicit(ctx, r)
	})
	switch {
	case err != nil && isRefusal(err):
		return nil, err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return elicited(ElicitCancel, nil), nil
	case err != nil:
		a.srv.log.Warn("an elicitation was declined, since its handler failed", "err", a.srv.redact.err(err))
		return elicited(ElicitDecline, nil), nil
	case res == nil:
		return elicited(ElicitDecline, nil), nil
	}
	switch {
	case res.Action == ElicitCancel:
		return elicited(ElicitCancel, nil), nil
	case res.Action != ElicitAccept:
		return elicited(ElicitDecline, nil), nil
	case r.Mode == ElicitURL:
		return elicited(ElicitAccept, nil), nil
	}
	content, err := form.fit(res.Content)
	if err != nil {
		a.srv.log.Warn("an elicitation was declined, since its values do not fit", "err", a.srv.redact.err(err))
		return elicited(ElicitDecline, nil), nil
	}
	return elicited(ElicitAccept, content), nil
}

// elicited writes an answer.
func elicited(action ElicitAction, content json.RawMessage) json.RawMessage {
	raw, err := json.Marshal(struct {
		Action  ElicitAction    `json:"action"`
		Content json.RawMessage `json:"content,omitempty"`
	}{action, content})
	if err != nil {
		return json.RawMessage(`{"action":"cancel"}`)
	}
	return raw
}

// readElicit reads the parameters of elicitation/create.
func (a *asked) readElicit(params json.RawMessage) (*ElicitRequest, error) {
	m, err := paramsOf(params)
	if err != nil {
		return nil, err
	}
	var f fields
	r := &ElicitRequest{
		Server: a.srv.id, Call: a.call, Mode: f.text(m, "mode"), Message: plain(f.text(m, "message")),
		URL: f.text(m, "url"), ID: f.text(m, "elicitationId"), Schema: f.object(m, "requestedSchema"),
	}
	if r.Mode == "" {
		r.Mode = ElicitForm
	}
	switch {
	case f.err != nil:
	case r.Mode != ElicitForm && r.Mode != ElicitURL:
		f.fail("has the unknown mode %q", clip(jsonText(r.Mode)))
	case r.Mode == ElicitForm:
		r.URL, r.ID = "", ""
	default:
		r.Schema = nil
		if u, err := url.Parse(r.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || plain(r.URL) != r.URL {
			f.fail("has a url that is no absolute http or https address")
		}
	}
	if f.err != nil {
		return nil, invalid("params: %v", f.err)
	}
	return r, nil
}
