"""What is measured. Each group is a function that works in a freshly made filesystem; `run.measure` times one step.

A row is a number that is better when it is lower (seconds) or higher (rates); report.py makes ratios of either.
"""

import json
import os
import shutil
import subprocess

GROUPS = {}


def group(function):
    GROUPS[function.__name__.replace("_", "-")] = function
    return function


def shell(*command, **options):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


def dd(source, target, block):
    shell("dd", f"if={source}", f"of={target}", f"bs={block}", "conv=fsync" if target != "/dev/null" else "conv=notrunc")


@group
def stream(run):
    """Sequential transfer of one large file."""
    source, megabytes = run.inputs.random_file(), run.inputs.megabytes
    one, two = run.path("one"), run.path("two")
    rate = {"unit": "MiB/s", "amount": megabytes}
    run.measure("write 128k", lambda: dd(source, one, "128k"), **rate)
    run.measure("write 4k", lambda: dd(source, two, "4k"), **rate)
    run.remount(cold=True)
    run.measure("read cold 128k", lambda: dd(one, "/dev/null", "128k"), **rate)
    run.measure("read kernel-cached", lambda: dd(one, "/dev/null", "128k"), **rate)
    run.remount(cold=True)
    run.measure("read cold 4k", lambda: dd(two, "/dev/null", "4k"), **rate)
    run.remount(cold=False)
    run.measure("read lower-cached", lambda: dd(two, "/dev/null", "128k"), **rate)


def fio(run, name, *options):
    size = f"{run.inputs.megabytes}M"
    result = subprocess.run(
        ["fio", "--name=job", f"--filename={run.path('random')}", f"--size={size}", "--bs=4k", "--ioengine=psync",
         f"--runtime={run.inputs.seconds}", "--time_based", "--output-format=json", "--group_reporting", *options],
        check=True, capture_output=True, text=True)
    job = json.loads(result.stdout[result.stdout.index("{"):])["jobs"][0]
    return sum(job[way]["iops"] for way in ("read", "write"))


@group
def random(run):
    """4 KiB at random places of one file, as a database does."""
    dd(run.inputs.random_file(), run.path("random"), "1M")
    for name, options in (
            ("random read 4k", ["--rw=randread"]), ("random read 4k, 4 threads", ["--rw=randread", "--numjobs=4"]),
            ("random write 4k", ["--rw=randwrite", "--end_fsync=1"]),
            ("random write 4k, fdatasync 64", ["--rw=randwrite", "--fdatasync=64"]),
            ("random write 4k, fdatasync 1", ["--rw=randwrite", "--fdatasync=1"])):
        run.remount(cold=True)
        run.measure(name, lambda options=options: fio(run, name, *options), unit="IOPS")


def small_files(run, label, folder_of):
    count, content = run.inputs.small_files, os.urandom(1024)
    names = [run.path(f"{folder_of(i)}/file{i:06}") for i in range(count)]
    for folder in sorted({os.path.dirname(name) for name in names}):
        os.makedirs(folder)

    def create():
        for name in names:
            with open(name, "wb") as file:
                file.write(content)

    def stat():
        for name in names:
            os.stat(name)

    def read():
        for name in names:
            with open(name, "rb") as file:
                file.read()

    def delete():
        for name in names:
            os.unlink(name)

    run.measure(f"create {label}", create)
    run.remount(cold=True)
    run.measure(f"stat {label}", stat)
    run.measure(f"read {label}", read)
    run.measure(f"delete {label}", delete)


@group
def one_folder(run):
    """Many small files in one folder."""
    small_files(run, "in one folder", lambda _: "all")


@group
def many_folders(run):
    """Many small files over many folders."""
    small_files(run, "over 200 folders", lambda i: f"part{i % 200:03}")


@group
def tree(run):
    """A source tree: unpacked, listed, packed, copied, removed."""
    archive, root = run.inputs.archive(), run.path("tree")
    os.mkdir(root)
    run.measure("unpack", lambda: shell("tar", "xf", archive, "-C", root))
    run.remount(cold=True)
    run.measure("ls -lR cold", lambda: shell("ls", "-lR", root))
    run.measure("ls -lR warm", lambda: shell("ls", "-lR", root))
    run.remount(cold=True)
    run.measure("find cold", lambda: shell("find", root))
    run.remount(cold=True)
    run.measure("du cold", lambda: shell("du", "-s", root))
    run.remount(cold=True)
    # GNU tar does not read what it would throw away into /dev/null.
    run.measure("tar c cold", lambda: shell("sh", "-c", f"tar c -C '{root}' . | cat > /dev/null"))
    run.measure("cp -a", lambda: shell("cp", "-a", root, run.path("copy")))
    run.remount(cold=True)
    run.measure("rm -rf cold", lambda: shell("rm", "-rf", root))
    run.measure("rm -rf warm", lambda: shell("rm", "-rf", run.path("copy")))


@group
def programs(run):
    """git and databases."""
    clone, database = run.path("clone"), run.path("inserts.db")
    run.measure("git clone", lambda: shell("git", "clone", "-q", run.inputs.repository(), clone))
    run.remount(cold=True)
    run.measure("git status cold", lambda: shell("git", "-C", clone, "status"))
    run.measure("git status warm", lambda: shell("git", "-C", clone, "status"))
    rows = run.inputs.rows
    insert = [f"insert into t values({i}, hex(randomblob(40)));" for i in range(rows)]
    shell("sqlite3", database, "create table t(a integer primary key, b text)")
    text = "begin;\n" + "\n".join(insert) + "\ncommit;\n"
    run.measure(f"sqlite {rows} in one transaction", lambda: shell("sqlite3", database, input=text.encode()))
    shell("sqlite3", database, "delete from t")
    few = "\n".join(insert[: rows // 10])
    run.measure(f"sqlite {rows // 10} transactions", lambda: shell("sqlite3", database, input=few.encode()))
    shell("sqlite3", database, "delete from t", "pragma journal_mode=wal")
    run.measure(f"sqlite {rows // 10} transactions, WAL", lambda: shell("sqlite3", database, input=few.encode()))
    pgbench(run)


def pgbench(run):
    folders = sorted(os.listdir("/usr/lib/postgresql")) if os.path.isdir("/usr/lib/postgresql") else []
    if not folders:
        run.skip("pgbench (PostgreSQL is not installed)")
        return
    binaries, data, sockets = f"/usr/lib/postgresql/{folders[-1]}/bin", run.path("pg"), run.inputs.folder
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    os.mkdir(data)
    shutil.chown(data, "postgres", "postgres")
    os.chmod(run.path("."), 0o755)
    shell(*user, f"{binaries}/initdb", "-D", data, "-A", "trust", cwd="/")
    control = [*user, f"{binaries}/pg_ctl", "-D", data, "-w", "-o", f"-k {sockets} -c listen_addresses=''"]
    shell(*control, "-l", f"{data}/log", "start", cwd="/")
    try:
        client = [*user, f"{binaries}/pgbench", "-h", sockets, "postgres"]
        shell(*client, "-i", "-s", "5", cwd="/")

        def transactions():
            result = subprocess.run(
                [*client, "-c", "4", "-T", str(run.inputs.seconds)], capture_output=True, text=True, check=True, cwd="/")
            return next(float(line.split()[2]) for line in result.stdout.splitlines() if line.startswith("tps"))

        run.measure("pgbench", transactions, unit="tps")
    finally:
        shell(*control, "-m", "fast", "stop", cwd="/")


@group
def mounting(run):
    """From the command to the first byte, with what the groups before leave: a tree."""
    shell("tar", "xf", run.inputs.archive(), "-C", run.path("."))
    with open(run.path("first"), "wb") as file:
        file.write(os.urandom(4096))

    def first_byte():
        run.remount(cold=True)
        with open(run.path("first"), "rb") as file:
            file.read(1)

    run.measure("lock, unlock, first byte", first_byte)
