package main

// help stands before docker's own.
const help = `metax-docker is docker with MetaX GPUs. Options that docker does not have,
for run and create:

  --gpus WHICH           all | N | ID,ID | [ID,ID] | count=N | device=ID,ID
                         ID is an index, UUID, PCI address or serial number;
                         N GPUs are picked so that they belong together
  --gpus-policy POLICY   spread (compact): keep the job under one link domain
                         binpack (preserve): and damage what remains least
  --gpus-explain         say on standard error why these GPUs
  --gpus-share           take GPUs that others hold, too; free ones first
  --gpus-wait TIME       wait up to 30s, 10m, 2h for GPUs to come free,
                         first come first served
  --inject WAY           cdi, flags (plain --device options), or auto, the
                         default: CDI where the daemon lists the GPUs
  --dry-run              print the docker command instead of running it; no
                         lease is taken

--gpus gives nobody a GPU that somebody holds: a container of any engine, a
process, an earlier run (metax-ctk ps). start and restart take a container's
GPUs back, or fail naming the holder; they know --gpus-share, --gpus-wait and
--dry-run too. compose gives each service its own.

Example:
  metax-docker run --rm --gpus=4 IMAGE /opt/mxdriver/bin/mx-smi -L

Environment: METAX_CTK_DOCKER names another docker-compatible client (podman,
nerdctl), METAX_CTK_GPUS_POLICY and METAX_CTK_INJECT set the defaults,
METAX_CTK_GPUS_IGNORE names programs and images that only look at GPUs,
METAX_CTK_ROOT and METAX_CTK_NODE choose a simulated node.
Exit codes are docker's; 125 also when no such GPUs can be given.

`
