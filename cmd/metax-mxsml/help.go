package main

const help = `metax-mxsml: what libmxsml, the vendor's library, tells of the GPUs, as JSON

metax-ctk starts it, because the library may hang or crash: that ends this program
then, and nothing else. LIBRARY is an absolute path; no other is tried.

  metax-mxsml LIBRARY node [--details]
      the GPUs, their links and slices; with --details also memory errors, dies
      and the ports of MetaXLink
  metax-mxsml LIBRARY sgpu create --gpu=BDF --compute=PERCENT --memory=MIB [--qos=QOS] [--alias=NAME]
      cut a slice from a GPU; QOS is best-effort, fixed-share or burst-share and
      the same for all slices of a GPU
  metax-mxsml LIBRARY sgpu remove --gpu=BDF --slice=NAME
      remove a slice; NAME is its UUID or its index
  metax-mxsml LIBRARY sgpu enable --gpu=BDF
  metax-mxsml LIBRARY sgpu disable --gpu=BDF
      give a GPU in slices only, or as a whole again

Example:
  metax-mxsml /opt/mxdriver/lib/libmxsml.so node

metax-mxsml --version prints the version.

Standard output is JSON and nothing else, also for a failure; what the library
prints there is lost.

Exit codes: 0 done; 1 the library failed; 2 usage; 3 LIBRARY is no libmxsml; 4 no
end within two minutes. Every other one, and no JSON, is a library that crashed.
`
