package mcpsource

import (
	"testing"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/mcptest"
	"github.com/toolsource/toolsource/sources/sourcetest"
)

func TestConformance(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) toolsource.ToolSource {
		return newSource(t, mcptest.Behaviour{}, &Options{Allow: []string{"echo", "add", "structured", "bigint", "fail"}}) // others hang on purpose
	}, "echo", "add")
}

func TestConformanceOfUtilities(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) toolsource.ToolSource {
		return newSource(t, reader(), &Options{Allow: []string{"echo"}, Resources: true, Prompts: true})
	}, "echo", "list_resources", "list_prompts")
}
