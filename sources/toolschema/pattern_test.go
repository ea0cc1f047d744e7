package toolschema

import "testing"

// TestPatterns: what Python's re reads, as its own compile answers, and what looks around.
func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern    string
		reads, see bool
	}{
		{`^[a-z]+$`, true, true},
		{`^\d{4}-\d{2}-\d{2}$`, true, true},
		{`^[\w.-]+@[\w-]+\.[a-z]{2,}$`, true, true},
		{`^.{1,20000}$`, true, true},                             // Go reads no such count
		{`^(?:(?:[01]\d|2[0-3]):[0-5]\d)?$`, true, true},         // as zod writes times
		{`^[^\u0000-\u001F\x7f]*$`, true, true},                  // written as escapes
		{`^\/api\/[^/]+$`, true, true},                           // a slash that needs no escape
		{`^[]a]$`, true, true},                                   // a bracket first is itself
		{`^[a\-z\]]$`, true, true},                               //
		{`(?i)^a$`, true, true},                                  // flags, at the start only
		{`a{,3}`, true, true},                                    //
		{`a{b}`, true, true},                                     // braces that count nothing
		{`^(a)\1$`, true, true},                                  //
		{`(?P<year>\d+)`, true, true},                            //
		{`^é[à-ü]$`, true, true},                                 //
		{``, true, true},                                         //
		{`^(?!undefined$|null$)`, true, false},                   //
		{`^(?=.*\S)[^\u0000]+$`, true, false},                    //
		{`^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)$`, true, false}, // as zod writes email
		{`(?<=a)b`, true, false},                                 //
		{`\(?=`, true, true},                                     // an escaped parenthesis looks at nothing
		{`[(?=]`, true, true},                                    //
		{`^[\p{L}\p{N} ._\-]+$`, false, false},                   // a property of Unicode
		{`^(\p{Extended_Pictographic}|\p{Emoji_Component})+$`, false, false},
		{`(?<year>\d+)`, false, false}, // a name as JavaScript writes it
		{`\u{1F600}`, false, false},    //
		{`[\w-.]`, false, false},       // a range from a set
		{`[a-\d]`, false, false},       //
		{`[z-a]`, false, false},        //
		{`a**`, false, false},          //
		{`(a`, false, false},           //
		{`a)`, false, false},           //
		{`[a`, false, false},           //
		{`\`, false, false},            //
		{`\cA`, false, false},          //
		{`(a)\2`, false, false},        //
		{`x(?i)y`, false, false},       //
		{`a{3,2}`, false, false},       //
		{`*a`, false, false},           //
		{`\x1`, false, false},          //
	} {
		if why := unreadPattern(tt.pattern, true); (why == "") != tt.reads {
			t.Errorf("%s: %q", tt.pattern, why)
		}
		if why := unreadPattern(tt.pattern, false); (why == "") != tt.see {
			t.Errorf("%s without lookaround: %q", tt.pattern, why)
		}
	}
}
