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
  --inject WAY           cdi, flags (plain --device options), or auto, the
                         default: CDI where the daemon lists the GPUs
  --dry-run              print the docker command instead of running it

Example:
  metax-docker run --rm --gpus=4 IMAGE /opt/mxdriver/bin/mx-smi -L

Environment: METAX_CTK_DOCKER names another docker-compatible client (podman,
nerdctl), METAX_CTK_GPUS_POLICY and METAX_CTK_INJECT set the defaults,
METAX_CTK_ROOT and METAX_CTK_NODE choose a simulated node.
Exit codes are docker's; 125 also when no such GPUs can be given.

`
