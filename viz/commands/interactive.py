"""A backward pass at a prompt: step forward and back, stop at breakpoints, look at gradients. Plain text, no colour."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib import import_module

from viz.breakpoints import FORMS, Breakpoint, first_held, read
from viz.commands.steps_text import becomes, how_far, sent
from viz.errors import UserError
from viz.graph import NodeRecord
from viz.text import MINUS, clip, count
from viz.told import NOT_YET, in_line
from viz.trace import Step, Trace

COMMANDS = """\
n, next [COUNT]     the next step, or COUNT steps on
p, previous         one step back
c, continue         on to the next breakpoint, or to the end
b, break            list the breakpoints
b NAME or COND      set one, at a node or where a condition holds: nan, inf, |grad| > 100, |a.grad| > 1
b - NUMBER          take one away
p NAME, print NAME  a node: its value, its gradient so far, and what has arrived in it
g, gradients        the gradient of every node so far
w, where            this step again
r, restart          back to before the seed
q, quit             leave; so does the end of the input
?, help             this list
Enter               the last command again"""

_MOST_LISTED = 100  # of the nodes: of more, those with names

_WORDS = {
    "next": "n",
    "previous": "p",
    "prev": "p",
    "back": "p",
    "continue": "c",
    "break": "b",
    "gradients": "g",
    "grads": "g",
    "where": "w",
    "restart": "r",
    "quit": "q",
    "exit": "q",
    "help": "?",
    "h": "?",
}


def converse(trace: Trace, title: str, conditions: Iterable[str] = ()) -> None:
    """Read commands from stdin, and answer on stdout, until q or the end of the input. The pass is run first.

    title       what the pass is of
    conditions  breakpoints to start with; raises UserError for one that cannot be read
    """
    session = Session(trace, conditions)
    _say(session.opening(title))
    if sys.stdin.isatty():
        _edit_lines()
    interrupted = False
    while True:
        try:
            line = input(session.prompt)
            interrupted = False
            if not sys.stdin.isatty():
                print(line)  # so that what a script of commands has printed reads as if they were typed
            answer = session.answer(line)
            if answer is None:
                return
            _say(answer)
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            print("\ninterrupted: q leaves, and so does Ctrl-C once more")


class Session:
    """Where in a pass somebody is, and what their commands do there."""

    def __init__(self, trace: Trace, conditions: Iterable[str] = ()) -> None:
        self.trace = trace
        self.steps = trace.steps
        self.at = 0  # steps done
        self.points: list[Breakpoint] = [read(condition, trace.graph) for condition in conditions]
        self._last = "n"
        self._commands: dict[str, Callable[[str], str]] = {
            "n": self._next,
            "p": self._previous,
            "c": self._continue,
            "b": self._break,
            "g": self._gradients,
            "w": lambda rest: self._where(),
            "r": self._restart,
            "print": self._print,
            "?": lambda rest: COMMANDS,
        }

    @property
    def prompt(self) -> str:
        """How many steps are done, of how many."""
        return f"({self.at}/{len(self.steps)}) "

    def opening(self, title: str) -> str:
        """What there is to step through, and the first value that is not finite, if there is one."""
        graph, trace = self.trace.graph, self.trace
        steps = f"{count(len(self.steps), 'step')} with {trace.operator}{how_far(trace)}"
        lines = [f"{clip(title, 80)}: {count(len(graph), 'node')}, {steps}; {_valued(graph.root)}"]
        if (found := trace.first_nonfinite) is not None:
            lines.append(f"the first value that is not finite: {found}")
        if self.points:
            lines.append(self._break(""))
        return "\n".join([*lines, self._where(), "? lists the commands"])

    def answer(self, line: str) -> str | None:
        """What to say to a command; None to the one that leaves."""
        line = line.strip() or self._last
        self._last = line
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        command = word if word in self._commands else _WORDS.get(word, word)
        if command == "q":
            return None
        if command == "p" and rest:
            command = "print"
        if command not in self._commands:
            return f"no command {clip(word)!r}: ? lists them"
        try:
            return self._commands[command](rest)
        except UserError as error:
            return str(error)

    # -- going on and back ---------------------------------------------------------------------------------------------

    def _next(self, rest: str) -> str:
        many = _number(rest) if rest else 1
        if many is None or many < 1:
            return f"n takes a number of steps from 1 up, not {clip(rest)!r}"
        if self.at == len(self.steps):
            return self._end()
        self.at = min(self.at + many, len(self.steps))
        return self._arrived()

    def _previous(self, rest: str) -> str:
        if self.at == 0:
            return self._where()
        self.at -= 1
        return self._where()

    def _continue(self, rest: str) -> str:
        if self.at == len(self.steps):
            return self._end()
        while self.at < len(self.steps):
            self.at += 1
            held = first_held(self.points, self.steps[self.at - 1])
            if held is not None:
                return f"breakpoint {self.points.index(held) + 1}: {held.text}\n{self._arrived()}"
        return self._arrived()

    def _restart(self, rest: str) -> str:
        self.at = 0
        return self._where()

    def _arrived(self) -> str:
        return self._where() if self.at < len(self.steps) else f"{self._where()}\n{self._end()}"

    def _end(self) -> str:
        return f"the end of the pass{how_far(self.trace)}: g lists the gradients, p goes back, r starts again"

    # -- breakpoints ---------------------------------------------------------------------------------------------------

    def _break(self, rest: str) -> str:
        if not rest:
            listed = [f"breakpoint {number}: {point.text}" for number, point in enumerate(self.points, 1)]
            return "\n".join(listed) or f"no breakpoints; b sets one: {FORMS}"
        if rest.startswith("-"):
            number = _number(rest[1:])
            if number is None or not 1 <= number <= len(self.points):
                return f"no breakpoint {clip(rest[1:].strip()) or '(which?)'} to take away: b lists them"
            return f"no longer: {self.points.pop(number - 1).text}"
        unquoted = rest[1:-1] if rest[0] == rest[-1] and rest[0] in "\"'" else rest
        self.points.append(read(unquoted, self.trace.graph))
        return f"breakpoint {len(self.points)}: {self.points[-1].text}"

    # -- looking -------------------------------------------------------------------------------------------------------

    def _where(self) -> str:
        """The step: who sends what to whom, by which line of the program; the rule in numbers; the running total."""
        if self.at == 0:
            return "before the seed: no gradient has arrived anywhere"
        step, graph = self.steps[self.at - 1], self.trace.graph
        who = f"step {self.at} of {len(self.steps)}: "
        if step.sender is None:
            who += f"the seed goes to {clip(graph[step.receiver].title, 80)}"
        else:
            sender = graph[step.sender]
            who += f"{clip(sender.name)} sends to {clip(step.receiver_name)}"
            if len(sender.parents) > 1:
                who += f", operand {step.slot + 1} of {len(sender.parents)}"
            who += f"; {clip(sender.title, 80)}"
        return f"{who}\n  {sent(step, self.trace)}\n  {becomes(step, step.receiver_name, self.trace)}"

    def _gradients(self, rest: str) -> str:
        held = {step.receiver: step.after for step in self.steps[: self.at]}
        if self.at == len(self.steps):
            held |= self.trace.hooked
        nodes = [node for node in self.trace.graph.nodes if node.requires_grad]
        if len(nodes) > _MOST_LISTED:
            nodes = [node for node in nodes if node.named] or nodes
        left_out = sum(node.requires_grad for node in self.trace.graph.nodes) - len(nodes[:_MOST_LISTED])
        rows = [(clip(node.name), node) for node in nodes[:_MOST_LISTED]]
        width = max(len(name) for name, _ in rows)
        lines = [
            f"  {name:<{width}}  {in_line(held[node.key]) if node.key in held else NOT_YET}" for name, node in rows
        ]
        more = [f"  and {count(left_out, 'node')} more: print NAME shows one"] if left_out else []
        return "\n".join(lines + more)

    def _print(self, rest: str) -> str:
        graph = self.trace.graph
        if not rest:
            return "print what? name a node"
        name = " ".join(rest.split())
        nodes = [node for node in graph.nodes if " ".join(node.name.split()) == name]
        nodes = nodes or [node for node in graph.nodes if node.key == name]
        if not nodes:
            close = get_close_matches(name, [node.name for node in graph.nodes], n=1)
            hint = f"did you mean {clip(close[0])}?" if close else "g lists the nodes"
            return f"no node is called {clip(name)!r}: {hint}"
        return "\n".join(self._node(node) for node in nodes)

    def _node(self, node: NodeRecord) -> str:
        """Value, gradient so far, and every contribution up to here."""
        name = clip(node.name)
        lines = [_valued(node)]
        if not node.requires_grad:
            return f"{lines[0]}\n  a constant: it takes no gradient"
        done = [step for step in self.steps[: self.at] if step.receiver == node.key]
        later = sum(step.receiver == node.key for step in self.steps[self.at :])
        lines.append(f"  {name}.grad so far: {in_line(done[-1].after) if done else NOT_YET}")
        lines += [f"    {self._entry(step)}" for step in done]
        if self.at == len(self.steps) and node.key in self.trace.hooked:
            lines.append(f"  a hook has made it {in_line(self.trace.hooked[node.key])}")
        lines.append(f"  {count(later, 'contribution')} to come" if later else "  nothing more to come")
        return "\n".join(lines)

    def _entry(self, step: Step) -> str:
        """One line of the ledger."""
        sender = "seed" if step.sender_name is None else clip(step.sender_name)
        return f"step {step.number}, from {sender}: {sent(step, self.trace)}, so {in_line(step.after)}"


def _valued(node: NodeRecord) -> str:
    return f"{clip(node.title, 80)} = {in_line(node.data)}"


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _say(text: str) -> None:
    print(text.replace(MINUS, "-"))


def _edit_lines() -> None:
    """Let the arrow keys work at the prompt, where Python has what that takes."""
    try:
        import_module("readline")
    except ImportError:
        return
