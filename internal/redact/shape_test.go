package redact

import (
	"strings"
	"testing"
	"time"
)

func TestShaped(t *testing.T) {
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
	for _, tt := range []struct{ why, in, want string }{
		{"GitHub's", "Error with ghp_abc123def456", "Error with ***"},
		{"another of GitHub's", "gho_abcdef ghu_abcdef ghs_abcdef ghr_abcdef.", "*** *** *** ***."},
		{"a fine-grained one", "(github_pat_11ABCDEFG0_abcdef)", "(***)"},
		{"OpenAI's", "key sk-projABC123xyz", "key ***"},
		{"with dots inside", "sk-proj.ABC.123xyz.", "***."},
		{"Slack's", "xoxb-1234-abcd, xoxp-99-aaaa", "***, ***"},
		{"AWS's", "id AKIAIOSFODNN7EXAMPLE", "id ***"},
		{"AWS's for a session", "ASIAIOSFODNN7EXAMPLE", "***"},
		{"a web token", "got " + jwt + ".", "got ***."},
		{"a web token without a signature", "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.", "***"},
		{"a bearer", "Authorization: Bearer eyJabc123def", "Authorization: ***"},
		{"a bearer by itself", "sent bearer abc.def~x+/==, failed", "sent bearer ***, failed"},
		{"basic", "Authorization: Basic dXNlcjpwYXNz\nnext", "Authorization: ***\nnext"},
		{"basic in JSON", `{"Authorization": "Basic dXNlcjpwYXNz"}`, `{"Authorization": "***"}`},
		{"basic for a proxy", "proxy-authorization=Basic dXNlcjpwYXNz x", "proxy-authorization=*** x"},
		{"no scheme", "authorization: abcdef rest", "authorization: *** rest"},
		{"a query", "url?token=secret123", "url?token=***"},
		{"a query goes on", "url?a=1&access_token=secret123&b=2", "url?a=1&access_token=***&b=2"},
		{"names in capitals", "API_KEY=abc,PASSWORD=def;SECRET=ghi key=jkl", "API_KEY=***,PASSWORD=***;SECRET=*** key=***"},
		{"a name of several words", "clientSecret=abc my-api-key=def dbPassword=ghi openaiKey=jkl", "clientSecret=*** my-api-key=*** dbPassword=*** openaiKey=***"},
		{"in quotes", `password="a b c" x`, `password="***" x`},
		{"with blanks", "api_key = abc", "api_key = ***"},
		{"a header", "X-Api-Key: abc", "X-Api-Key: ***"},
		{"a colon", "password: hunter2", "password: ***"},
		{"JSON", `{"token": "a\"b", "n": 1}`, `{"token": "***", "n": 1}`},
		{"JSON, another name", `{"refresh_token":"abc","client_secret":"def"}`, `{"refresh_token":"***","client_secret":"***"}`},
		{"JSON in a quoted text", `"{\"token\": \"abc\", \"x\": 1}"`, `"{\"token\": \"***\", \"x\": 1}"`},
		{"JSON that was cut", `{"token": "abc`, `{"token": "***`},
		{"a URL's user", "dial https://user:pass@host/x?y", "dial https://***@host/x?y"},
		{"a URL's user has an @", "postgres://u:p@ss@h:5432/db", "postgres://***@h:5432/db"},
		{"three in one text", "ghp_abc123def456 sk-projABC123xyz Bearer abc123", "*** *** Bearer ***"},

		{"nothing", "normal error message", "normal error message"},
		{"words that begin so", "sk-learn, a risk-free ask-me-123456789, ghp_ and bearer", "sk-learn, a risk-free ask-me-123456789, ghp_ and bearer"},
		{"a challenge", `Bearer realm="mcp", error="invalid_token", scope="a b"`, `Bearer realm="mcp", error="invalid_token", scope="a b"`},
		{"a challenge without quotes", "Bearer scope=read", "Bearer scope=read"},
		{"a sentence", "missing Bearer token. Unexpected token: < at key: 5", "missing Bearer token. Unexpected token: < at key: 5"},
		{"another name", "monkey=banana max_tokens=5 keyboard=us tokenizer=x", "monkey=banana max_tokens=5 keyboard=us tokenizer=x"},
		{"a comparison", "if key == 5", "if key == 5"},
		{"JSON that is no secret", `{"key":"color","token":5,"token":null}`, `{"key":"color","token":5,"token":null}`},
		{"an address without a user", "see https://host/@scope/x and a@b.c", "see https://host/@scope/x and a@b.c"},
		{"what was hidden already", "token=*** Bearer *** https://***@h", "token=*** Bearer *** https://***@h"},
		{"a number of AWS's length", "AKIAIOSFODNN7EXAMPLEX", "AKIAIOSFODNN7EXAMPLEX"},
		{"no web token", "eyJhbGciOiJub25lIn0.only", "eyJhbGciOiJub25lIn0.only"},
	} {
		if got := Shaped(tt.in); got != tt.want {
			t.Errorf("%s: %q becomes %q, want %q", tt.why, tt.in, got, tt.want)
		}
		if got := Shaped(Shaped(tt.in)); got != Shaped(tt.in) {
			t.Errorf("%s: twice it is %q", tt.why, got)
		}
	}
}

func TestClean(t *testing.T) {
	if got := New("hunter2").Clean("hunter2 and ghp_abc123def456"); got != "*** and ***" {
		t.Error(got)
	}
	var none *Set
	if got := none.Clean("token=abc"); got != "token=***" {
		t.Error(got)
	}
}

// The time is that of the text's length, whatever stands in it.
func TestShapedIsLinear(t *testing.T) {
	const size = 1 << 20
	for _, piece := range []string{"a", "=", ":", `"`, "token=", `"token":"\`, "eyJ.", "Bearer ", "://", "sk-", "eyJ-", "secret_", "key: ", " "} {
		begin := time.Now()
		Shaped(strings.Repeat(piece, size/len(piece)))
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("1 MiB of %q take %v", piece, took)
		}
	}
}

func FuzzShaped(f *testing.F) {
	for _, s := range []string{"token=abc", `{"token": "a\"b"}`, "https://u:p@h", "Authorization: Basic x y", "eyJa.b.c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Shaped(text)
		for _, piece := range strings.Split(got, mask) { // what stays was there
			if !strings.Contains(text, piece) {
				t.Errorf("%q becomes %q", text, got)
			}
		}
	})
}
