package hostdoc

import "testing"

func TestYAMLFaults(t *testing.T) {
	const tail = "\nz1: 1\nz2: 2\nz3: 3\nz4: 4\n"
	tests := []struct{ name, text, want string }{
		{"a", "a:\n  - x\n b: 1", "f:3:2"},
		{"a", "x: 1\na: [1, 2\nb: 3", "f:3:1"},
		{"a", "x: 1\na: {x: 1\nb: 3", "f:3:1"},
		{"a", "a: b: c", "f:1:1"},
		{"a", "x: 1\na: \"abc\nd: e", "f:2:1"},
		{"a", "a: \"abc\nd: e", "f:1:1"},
		{"a", "x: 1\n\ta: 1", "f:2:1"},
		{"a", "x:\n\ta: 1", "f:2:1"},
		{"a", "x: 1\ny: *no", "f:2:1"},
		{"a", "x: 1\ny: @no", "f:2:1"},
		{"a", "x: 1\ny: \"\\q\"", "f:2:1"},
		{"a", "x: 1\ny", "f:2:1"},
		{"a", "x: 1\ny: 'it's'", "f:2:1"},
		{"a", "- a\nb: 1", "f:2:1"},
		{"a", "x: 1\n- b", "f:2:1"},
		{"a", "x: 1\n  y: 2", "f:2:3"},
		{"a", "x:\n  y: 2\n z: 1", "f:3:2"},
		{"a", "x: 1\ny: !foo!bar 1", "f:2:1"},
		{"a", "x: 1\ny: \x01 2", "f:2:4"},
		{"a", "x: 1\ny: |9x\n 2", "f:2:1"},
		{"a", "x: ]", "f:1:1"},
		{"a", "x: {a: 1}}", "f:1:1"},
		{"a", "x: 1\ny: *", "f:2:1"},
		{"a", "x: 1\ny: \"C:\\Users\\x\"", "f:2:1"},
		{"a", "x: 1\ny: \"C:\\users\\x\"", "f:2:1"},
		{"a", "x: 1\ny: 'it's'\n# 1\n# 2\n\n\n\n\n\n# 3", "f:2:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("f", YAML, []byte(tt.text+tail))
			t.Logf("%-40q %s %v", tt.text, tt.want, err)
		})
	}
}
