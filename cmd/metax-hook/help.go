package main

const help = `metax-hook: the OCI hook of the MetaX container toolkit

Container runtimes call it while a container starts, with the container's state
on standard input. Its command line is one or more actions, done in order:

  create-symlinks --link TARGET::PATH ...   links, as the container sees them;
                                            they replace other links
      and --new-link TARGET::PATH ...       links where nothing exists yet
  update-ldcache --folder DIR ...           libraries for the dynamic linker
  prestart [--spec-dir DIR ...]             the GPUs and the MXMACA that the
                                            container's annotations request
  precreate [--spec-dir DIR ...]            the same, for config.json from standard
                                            input to standard output

Examples:
  in a CDI spec, stage createContainer:
    metax-hook create-symlinks --link /opt/maca-3.3.0.15::/opt/maca update-ldcache --folder /opt/maca/lib
  in hooks.d, stage prestart:
    metax-hook prestart

Prefer CDI where the engine has it. prestart runs after the runtime has read its
configuration: it cannot set groups and variables, and systemd removes the device
rules at a daemon-reload. precreate, metax-runtime and CDI do not have these limits.

metax-hook --version prints the version.

Exit codes: 0 done, or skipped with a warning; 1 the container must not start, with
the reason in one line on standard error.
`
