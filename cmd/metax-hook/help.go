package main

const help = `metax-hook: the OCI hook of the MetaX container toolkit

Container runtimes call it while a container starts, with the container's state
on standard input. Its command line is one or more actions, done in order:

  create-symlinks --link TARGET::PATH ...   links, as the container sees them, in
                                            the place of other links
      and --new-link TARGET::PATH ...       where nothing stands yet
  update-ldcache --folder DIR ...           libraries for the dynamic linker
  prestart [--spec-dir DIR ...]             the GPUs and the MXMACA that the
                                            container's annotations ask for
  precreate [--spec-dir DIR ...]            the same, for config.json from standard
                                            input to standard output

Examples:
  in a CDI spec, stage createContainer:
    metax-hook create-symlinks --link /opt/maca-3.3.0.15::/opt/maca update-ldcache --folder /opt/maca/lib
  in hooks.d, stage prestart:
    metax-hook prestart

CDI is the better way where the engine has it. prestart comes after the runtime has
read its configuration: it gives no groups and no variables, and systemd takes the
device rules back at a daemon-reload. precreate, metax-runtime and CDI do not have
these limits.

metax-hook --version prints the version.

Exit codes: 0 done, or left out with a warning; 1 the container must not start,
with the reason in one line on standard error.
`
