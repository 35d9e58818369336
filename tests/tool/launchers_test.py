# SPDX-License-Identifier: Apache-2.0
"""Training by processes that others start: torchrun, MPICH's mpiexec, Slurm's srun, each where it is installed. Two of them end
with the bytes of one process.

torchrun is that of python3-torch. MPICH needs a module of its own, which is compiled here. Slurm runs on this host alone,
with its daemons started for the test; that takes root.
"""
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import time

import support
from support import ROOT, TOOL, ToolTest, mnist_recipe

PYTHON = "/usr/bin/python3"
SLURM = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SwitchType=switch/none
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


class Launchers(ToolTest):
    def setUp(self):
        super().setUp()
        self.need_data()
        self.need_device("cpu")
        (self.folder / "recipe.toml").write_text(mnist_recipe("""[steps]
batch = 8
lanes = 2
limit = 3
[optimizer]
rate = 0.01
"""))
        self.one = self.train("one")

    def train(self, name, *starter, tool=TOOL, **variables):
        """What a run leaves and says, by the processes that `starter` starts."""
        command = [*starter, str(tool), "train", str(self.folder / "recipe.toml"), "-o", str(self.folder / name), "--device", "cpu",
                   "--threads", "1"]
        done = subprocess.run(command, env=dict(os.environ, TILEFUSE_CACHE=str(self.cache), **variables), text=True, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("by 2 workers, 1 each" if starter else "in each of 2 lanes", done.stdout)
        return hashlib.sha256((self.folder / name / "step-00000003.safetensors").read_bytes()).hexdigest()

    def mpich_tool(self):
        """The program in a folder of its own, whose module for MPI is MPICH's."""
        if shutil.which("mpicxx.mpich") is None or shutil.which("mpiexec.mpich") is None:
            self.skipTest("no MPICH")
        modules = self.folder / "mpich" / "lib" / "tilefuse"
        modules.mkdir(parents=True)
        for module in (TOOL.parents[1] / "lib" / "tilefuse").iterdir():
            if module.name != "tilefuse_mpi.so":
                (modules / module.name).symlink_to(module)
        subprocess.run(["mpicxx.mpich", "-std=c++20", "-shared", "-fPIC", "-DMPICH_SKIP_MPICXX", "-I", str(ROOT / "src"),
                        str(ROOT / "src/runtime/workers/mpi_module_main.cpp"), "-o", str(modules / "tilefuse_mpi.so")], check=True)
        tool = self.folder / "mpich" / "bin" / "tilefuse"
        tool.parent.mkdir()
        shutil.copy(TOOL, tool)
        return tool

    def test_torchrun(self):
        found = subprocess.run([PYTHON, "-c", "import torch.distributed.run"], stderr=subprocess.DEVNULL, check=False)
        if found.returncode != 0:
            self.skipTest("no torchrun")
        # Debian's fails by what it takes --redirects and --tee for where these are not said.
        starter = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "--redirects", "1", "--tee", "1",
                   "--no_python"]
        self.assertEqual(self.train("torchrun", *starter), self.one)

    def test_mpich(self):
        self.assertEqual(self.train("mpich", "mpiexec.mpich", "-n", "2", tool=self.mpich_tool()), self.one)

    def test_another_mpi_than_the_module_is_of(self):
        if not (TOOL.parents[1] / "lib/tilefuse/tilefuse_mpi.so").exists() or shutil.which("mpiexec.mpich") is None:
            self.skipTest("no MPICH, or built without MPI")
        done = subprocess.run(["mpiexec.mpich", "-n", "2", str(TOOL), "train", str(self.folder / "recipe.toml"), "-o",
                               str(self.folder / "wrong"), "--device", "cpu"], text=True, timeout=60, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        self.assertIn("it was started by another MPI than this build was made with", done.stdout)
        self.assertNotEqual(done.returncode, 0)

    def test_slurm(self):
        variables = {"SLURM_CONF": str(self.start_slurm())}
        srun = ["srun", "-n", "2", "--overcommit"]
        by_port = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_ports(1)[0]), "TILEFUSE_TOKEN": "t"}
        self.assertEqual(self.train("srun", *srun, **variables, **by_port), self.one)
        if (TOOL.parents[1] / "lib/tilefuse/tilefuse_mpi.so").exists():
            self.assertEqual(self.train("pmix", *srun, "--mpi=pmix", **variables), self.one)
        if shutil.which("mpicxx.mpich") is not None:
            self.assertEqual(self.train("pmi2", *srun, "--mpi=pmi2", tool=self.mpich_tool(), **variables), self.one)

    def start_slurm(self):
        """The daemons of a cluster of this host; its configuration."""
        needed = ("srun", "slurmctld", "slurmd", "munged")
        if os.geteuid() != 0 or any(shutil.which(name) is None for name in needed):
            self.skipTest("no Slurm, or not root")
        folder = self.folder / "slurm"
        for name in ("state", "spool"):
            (folder / name).mkdir(parents=True)
        folder.chmod(0o700)
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        config = folder / "slurm.conf"
        config.write_text(SLURM.format(host=socket.gethostname().split(".")[0], folder=folder, ports=free_ports(2), cpus=os.cpu_count()))
        self.start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket",
                   f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed")
        self.wait_for(lambda: (folder / "munge.socket").exists())
        self.start("slurmctld", "-D", "-f", str(config))
        self.start("slurmd", "-D", "-f", str(config))
        self.wait_for(lambda: "idle" in subprocess.run(["sinfo", "-h", "-o", "%T"], env=dict(os.environ, SLURM_CONF=str(config)), text=True,
                                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout)
        return config

    def start(self, *command):
        daemon = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def end():
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(timeout=30)

        self.addCleanup(end)

    def wait_for(self, is_there):
        deadline = time.time() + 60
        while not is_there():
            self.assertLess(time.time(), deadline, "Slurm does not start")
            time.sleep(0.2)


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


if __name__ == "__main__":
    support.main()
