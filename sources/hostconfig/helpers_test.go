package hostconfig

import "github.com/toolsource/toolsource"

func rev(m map[string]toolsource.Secret) map[string]string {
	if m == nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range m {
		out[k] = v.Reveal()
	}
	return out
}
