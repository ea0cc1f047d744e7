package matrix

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/toolsource/toolsource/mcpclient/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	goleak.VerifyTestMain(m)
}
