// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an argument":       {[]string{"run"}, `"run" is an argument; there are only options`},
		"a policy":          {[]string{"--policy=best"}, `--policy: policy "best" is not known; want spread (or compact), binpack (or preserve), weighted:GAIN,LOSS, mtf, first`},
		"a size":            {[]string{"--max-body=0"}, "--max-body 0: want a number of bytes above 0"},
		"half of HTTPS":     {[]string{"--tls-cert=x"}, "HTTPS needs both --tls-cert and --tls-key"},
		"clients of HTTP":   {[]string{"--tls-client-ca=x"}, "HTTPS needs both --tls-cert and --tls-key"},
		"no cluster":        {[]string{"--kubeconfig=/absent", "--log-dir="}, "reach the API server: stat /absent: no such file or directory"},
		"an unknown option": {[]string{"--adress=:1"}, "flag provided but not defined: -adress"},
	} {
		t.Run(name, func(t *testing.T) {
			app := newApp()
			app.Writer = &bytes.Buffer{}
			err := app.RunContext(t.Context(), append([]string{"metax-gpu-aware"}, c.args...))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
