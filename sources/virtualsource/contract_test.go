package virtualsource

import (
	"testing"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/sources/sourcetest"
)

func TestContract(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) toolsource.ToolSource {
		return New(parse(t, "[virtual_tools.ping]\ngrade = '0,0'\nargs = [{ name = 'n', type = 'int', default = 1 }]\n"), always, nil)
	}, "ping")
}
