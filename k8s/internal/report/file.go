// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Dir is the directory of the host with a file COMPONENT.json for each component. It is empty
// after a boot.
const Dir = "/run/metax-container-toolkit/operator"

// kind is that of the files.
const (
	apiVersion = "metax-ctk/v1"
	kind       = "ComponentReport"
)

type file struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Report
}

// Write writes the report of a component into a directory, and reports whether that changed
// the file.
func Write(dir, component string, r Report) (changed bool, err error) {
	r = r.withCleanMessage()
	if err := r.validateFor(component); err != nil {
		return false, fmt.Errorf("report on a component: %w", err)
	}
	text, err := json.MarshalIndent(file{apiVersion, kind, r}, "", "  ")
	if err != nil {
		return false, err
	}
	return atomicfile.Write(filepath.Join(dir, component+".json"), append(text, '\n'), atomicfile.Options{Perm: 0o644})
}

// Remove removes the report of a component, if there is one: nothing is known of it any more.
func Remove(dir, component string) error {
	_, err := atomicfile.Remove(filepath.Join(dir, component+".json"))
	return err
}

// Read returns the reports of a host by component, and why a file was not taken. A report that
// cannot be read is one that the component is not ready.
func Read(host *hostfs.Root) (reports map[string]Report, warnings []string) {
	reports = map[string]Report{}
	for _, component := range components {
		name := path.Join(Dir, component+".json")
		text, err := host.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var f file
		if err == nil {
			err = json.Unmarshal(text, &f)
		}
		if err == nil && f.Kind == kind && f.APIVersion != apiVersion {
			err = fmt.Errorf("it has version %.40q, which this program does not know; one version for all: helm upgrade",
				f.APIVersion)
		}
		if err == nil && (f.APIVersion != apiVersion || f.Kind != kind) {
			err = fmt.Errorf("it is a %.40q of %.40q, not a %s of %s", f.Kind, f.APIVersion, kind, apiVersion)
		}
		if err == nil {
			err = f.validateFor(component)
		}
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("the report %s is not taken: %v", name, err))
			f.Report = Report{Reason: "BadReport", Message: err.Error()}
		}
		reports[component] = f.withCleanMessage()
	}
	return reports, warnings
}
