// SPDX-License-Identifier: Apache-2.0

package cluster

import "context"

// The registry of Docker's makers, which keeps images on the disk and serves them only to its
// user.
const (
	DiskRegistry = "127.0.0.1:5001"
	// DiskUser and DiskPassword are those of the user.
	DiskUser     = "robot"
	DiskPassword = "secret"
)

// RunRegistry runs it.
func (c *Cluster) RunRegistry(ctx context.Context) error {
	for name, text := range map[string]string{
		"registry.yml": `version: 0.1
storage: {filesystem: {rootdirectory: /var/lib/registry}}
http: {addr: ` + DiskRegistry + `}
auth: {htpasswd: {realm: test, path: ` + dir + `/registry.users}}
`,
		"registry.users": DiskUser + ":$2b$04$Cx9u1SDq6Sq/Xf1VrUFBe.5eouBeqYRS0.XHlu/RVluZl63Pijjoq\n",
	} {
		if err := c.WriteFile(dir+"/"+name, text); err != nil {
			return err
		}
	}
	return c.launch(ctx, program{argv: []string{"docker-registry", "serve", dir + "/registry.yml"}, ready: serves(DiskRegistry)})
}
