package hostdoc

import (
	"fmt"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	for _, syntax := range []Syntax{JSON, YAML, TOML} {
		for _, n := range []int{1000, 10_000} {
			data := []byte(servers(syntax, n))
			b.Run(fmt.Sprintf("%s/%d", syntax, n), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Parse("f", syntax, data); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
