// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func TestRequested(t *testing.T) {
	d, node, _ := simulated(t)
	everything := d.Indices(0, 1, 2, 3, 4, 5, 6, 7)
	const annotation, cdi, list = "metax-tech.com/gpu", "cdi.k8s.io/plugin", "/var/run/metax-container-devices/"
	uuid, bdf := string(node.GPUs[5].UUID), node.GPUs[3].BDF.String()
	type ask struct {
		annotations map[string]string
		mounts      []Mount
	}
	says := func(key, value string) ask { return ask{annotations: map[string]string{key: value}} }
	mounts := func(source string, destinations ...string) ask {
		var a ask
		for _, at := range destinations {
			a.mounts = append(a.mounts, Mount{source, at})
		}
		return a
	}
	for name, c := range map[string]struct {
		ask
		want []gpu.BDF
	}{
		"nothing":                 {},
		"index":                   {says(annotation, "0"), d.Indices(0)},
		"a list, any order":       {says(annotation, "3,1,3"), d.Indices(1, 3)},
		"UUID and address":        {says(annotation, uuid+","+bdf), d.Indices(3, 5)},
		"all":                     {says(annotation, "all"), everything},
		"all among others":        {says(annotation, "1,all"), everything},
		"none":                    {says(annotation, "none"), nil},
		"empty":                   {says(annotation, ""), nil},
		"unknown":                 {says(annotation, "99"), nil},
		"unknown beside known":    {says(annotation, "99,1"), d.Indices(1)},
		"an index written longer": {says(annotation, "01"), nil},
		"serial number":           {says(annotation, node.GPUs[2].Serial), nil},
		"empty element":           {says(annotation, "0,,1"), nil},
		"comma at the end":        {says(annotation, "0,"), nil},
		"space":                   {says(annotation, "0, 1"), nil},
		"slash":                   {says(annotation, "1,../0"), nil},
		"control character":       {says(annotation, "0\n"), nil},
		"qualified name":          {says(annotation, "metax-tech.com/gpu=0"), nil},
		"longer name":             {says(annotation+"s", "0"), nil},
		"other case":              {says("Metax-tech.com/gpu", "0"), nil},
		"MXMACA":                  {says("metax-tech.com/maca", "0"), nil},
		"CDI":                     {says(cdi, "metax-tech.com/gpu=0"), d.Indices(0)},
		"CDI, any name":           {says("cdi.k8s.io/", "metax-tech.com/gpu="+uuid), d.Indices(5)},
		"CDI list":                {says(cdi, "metax-tech.com/gpu=2,metax-tech.com/maca=host,nvidia.com/gpu=0,metax-tech.com/gpu="+bdf), d.Indices(2, 3)},
		"CDI all":                 {says(cdi, "metax-tech.com/gpu=all"), everything},
		"CDI, other kinds":        {says(cdi, "nvidia.com/gpu=all"), nil},
		"CDI, longer kind":        {says(cdi, "metax-tech.com/gpus=1"), nil},
		"CDI, unqualified":        {says(cdi, "metax-tech.com/gpu=2,1"), nil},
		"CDI, malformed":          {says(cdi, "metax-tech.com/gpu=1,"), nil},
		"CDI none":                {says(cdi, "none"), nil},
		"CDI prefix without /":    {says("cdi.k8s.io", "metax-tech.com/gpu=1"), nil},
		"one malformed, one not":  {ask{annotations: map[string]string{annotation: "0,,1", cdi: "metax-tech.com/gpu=4"}}, d.Indices(4)},
		"mounts":                  {mounts("/dev/null", list+"6", list+uuid), d.Indices(5, 6)},
		"mount, all":              {mounts("/dev/null", list+"all"), everything},
		"mount, unclean":          {mounts("/dev/../dev//null", "/var//run/metax-container-devices/./6/"), d.Indices(6)},
		"mount, unknown":          {mounts("/dev/null", list+"99"), nil},
		"mount, deeper":           {mounts("/dev/null", list+"1/2"), nil},
		"mount, the directory":    {mounts("/dev/null", list), nil},
		"mount, climbs out":       {mounts("/dev/null", list+"../1"), nil},
		"mount of a device":       {mounts("/dev/zero", list+"1"), nil},
		"mount without source":    {mounts("", list+"1"), nil},
		"mount elsewhere":         {mounts("/dev/null", "/run/metax-container-devices/1"), nil},
		"all ways": {ask{
			map[string]string{annotation: "0", cdi: "metax-tech.com/gpu=1"},
			[]Mount{{"/dev/null", list + "2"}, {"/data", "/data"}},
		}, d.Indices(0, 1, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, d.Requested(c.annotations, c.mounts)); diff != "" {
				t.Error(diff)
			}
			// A bundle tells the same, whatever else it says.
			for before, facts := range map[string]usage.Facts{
				`{}`:            {GPUs: c.want},
				`{"linux": {}}`: {GPUs: c.want},
				`{"linux": {"resources": {"devices": [{"allow": true, "access": "rwm"}]}}}`:                                 {GPUs: c.want, Privileged: true},
				`{"linux": {"devices": [{"path": "` + d.root + `/dev/dri/card8", "type": "c", "major": 226, "minor": 8}]}}`: {GPUs: usage.Sorted(append(d.Indices(7), c.want...))},
				`{"process": {"env": ["METAX_VISIBLE_DEVICES=all"]}}`:                                                       {GPUs: c.want},
			} {
				got, err := d.Bundle(bundleText(t, before, c.annotations, c.mounts), true)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(facts, got); diff != "" {
					t.Errorf("%s: %s", before, diff)
				}
			}
		})
	}
}

// bundleText adds annotations and mounts to a bundle's text.
func bundleText(t *testing.T, text string, annotations map[string]string, mounts []Mount) []byte {
	t.Helper()
	var bundle map[string]any
	if err := json.Unmarshal([]byte(text), &bundle); err != nil {
		t.Fatal(err)
	}
	bundle["annotations"] = annotations
	var list []map[string]string
	for _, m := range mounts {
		list = append(list, map[string]string{"source": m.Source, "destination": m.Destination})
	}
	bundle["mounts"] = list
	out, err := json.Marshal(bundle)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A name of the CDI spec is not the GPU that has it as a serial number.
func TestNamedBySerial(t *testing.T) {
	d, _, _ := simulated(t)
	d.gpus[6].Serial = "3"
	if diff := cmp.Diff(d.Indices(3), d.CDI("metax-tech.com/gpu=3")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(d.Indices(3), d.Requested(map[string]string{"metax-tech.com/gpu": "3"}, nil)); diff != "" {
		t.Error(diff)
	}
}
