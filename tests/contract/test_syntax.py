"""Trees are made one thread at a time, so that many runs may prepare their programs at once."""

from concurrent.futures import ThreadPoolExecutor

from blocksim.contract.syntax import compiled, parse


def test_many_threads_may_parse_and_compile():
    text = "\n".join(f"x{i} = [{', '.join(map(str, range(i)))}]" for i in range(60))

    def work(_):
        made: dict = {}
        exec(compiled(parse(text), "<test>", "exec"), made)
        return len(made["x59"])

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(100))) == {59}
