// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

var recordChecks = []Check{
	{
		ID: "record", Title: "the node is recorded for metax-docker",
		applies: func(f *Facts) bool { return f.driverUp() && f.hasSpec() }, run: func(f *Facts, found *findings) {
			switch {
			case !f.driverUp() || !f.hasSpec(): // other checks say what is missing
			case !f.Record.Present:
				f.addRegenerate(found, Warning, f.localPath(f.Record.Path)+" is missing",
					"metax-docker reads MetaXLink and UUIDs only from the record", f.generateStep())
			case f.Record.Err != "":
				found.add(Error, "the record of the node cannot be read: "+f.Record.Err,
					"metax-docker reads MetaXLink and UUIDs only from the record",
					fmt.Sprintf("rm %s && %s", dockerargs.QuoteWord(f.localPath(f.Record.Path)), f.generateStep().String()))
			case f.Record.Early:
				f.addRegenerate(found, Warning, f.localPath(f.Record.Path)+" was written before this boot",
					"links and health may have changed since", f.generateStep())
			}
		},
	},
	{ID: "record-drift", Title: "the record of the node is up to date", applies: func(f *Facts) bool {
		return f.driverUp() && f.Node.Known && f.Record.Present && f.Record.Err == "" && !f.Record.Early
	}, run: func(f *Facts, found *findings) {
		if !f.driverUp() || !f.Node.Known || !f.Record.Present || f.Record.Err != "" || f.Record.Early {
			return
		}
		for _, g := range f.Node.GPUs {
			r, known := f.Record.Node.Lookup(g.BDF)
			_, seen := f.Kernel.findFunction(g.BDF)
			switch {
			case !seen:
				// The check gpu-seen reports that the kernel does not show it.
			case !known:
				f.addRegenerate(found, Warning, fmt.Sprintf("GPU %s is not in the record", g.BDF),
					"metax-docker chooses GPUs by the record", f.generateStep())
				return
			case r.UUID != g.UUID && g.UUID != "", r.Healthy != g.Healthy:
				f.addRegenerate(found, Warning, fmt.Sprintf("GPU %s differs from its record", g.BDF),
					"metax-docker chooses GPUs by the record", f.generateStep())
				return
			}
		}
	}},
}
