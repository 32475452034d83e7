package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

func (t toolkit) leaseInitCommand() *cli.Command {
	return &cli.Command{
		Name:  "init",
		Usage: "make the directory of the leases, or fix its owner and mode",
		Description: `Root and the members of the group take leases: by default the group of
docker's socket, or else "docker"; without docker the group stays as it is,
at first root's. What is right is left unchanged, and leases stay.

Examples:
   metax-ctk lease init
   metax-ctk lease init --group gpu-users

Exit codes: 0 done, or nothing to do; 1 the directory cannot be made; 2 usage.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "group", Usage: "the group that may take leases: `NAME` or number"},
		},
		Action: t.leaseInit,
	}
}

// directory is the directory of the leases as lease init prints it.
type directory struct {
	Path  string `json:"path"`
	Owner string `json:"owner"`
	Group string `json:"group"`
	Mode  string `json:"mode"`
}

func (t toolkit) leaseInit(c *cli.Context) error {
	if err := needsHost("lease init", t.where(c)); err != nil {
		return err
	}
	// The directory is made at boot, before the GPUs may be there.
	k, err := t.keeper(c, gpu.NewNode(""))
	if err != nil {
		return err
	}
	gid := k.Ledger.DefaultGID
	if c.IsSet("group") {
		if gid, err = groupID(c.String("group")); err != nil {
			return err
		}
	}
	if err := k.Ledger.Init(gid); err != nil {
		return err
	}
	made, err := describeDir(filepath.Dir(k.Ledger.Path()))
	if err != nil {
		return err
	}
	return t.print(c, made, fmt.Sprintf("%s %s:%s %s\n", made.Path, made.Owner, made.Group, made.Mode))
}

func groupID(name string) (int, error) {
	id := name
	if g, err := user.LookupGroup(name); err == nil {
		id = g.Gid
	}
	gid, err := strconv.ParseUint(id, 10, 31)
	if err != nil {
		return 0, usagef("--group %q: no such group", name)
	}
	return int(gid), nil
}

func describeDir(path string) (directory, error) {
	info, err := os.Stat(path)
	if err != nil {
		return directory{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return directory{}, fmt.Errorf("stat %s: no owner", path)
	}
	d := directory{
		Path: path, Owner: strconv.FormatUint(uint64(st.Uid), 10), Group: strconv.FormatUint(uint64(st.Gid), 10),
		Mode: strconv.FormatUint(uint64(st.Mode&0o7777), 8),
	}
	if u, err := user.LookupId(d.Owner); err == nil {
		d.Owner = u.Username
	}
	if g, err := user.LookupGroupId(d.Group); err == nil {
		d.Group = g.Name
	}
	return d, nil
}
