// Values that are followed: a component that reads one while it is drawn is drawn again when it
// changes. Why not the package for it: docs/decisions/dashboard-stack.md.
import { options, type VNode } from 'preact';

interface Reader {
  forceUpdate(): void;
  /** Whose readers it is one of. */
  followed?: Set<Set<Reader>>;
}

/** __r (a component is about to be drawn) and __c (it) are the names that Preact's packages share. */
type Node = VNode & { __c?: Reader };
const hooks: { __r?(node: Node): void; diffed?(node: Node): void; unmount?(node: Node): void } =
  options;

let reading: Reader | undefined;

function hook(name: keyof typeof hooks, act: (node: Node) => void): void {
  const others = hooks[name];
  hooks[name] = node => {
    act(node);
    others?.(node);
  };
}

hook('__r', node => (reading = node.__c));
hook('diffed', () => (reading = undefined));
hook('unmount', ({ __c }) => __c?.followed?.forEach(readers => readers.delete(__c)));

export function signal<T>(value: T): { value: T } {
  const readers = new Set<Reader>();
  return {
    get value() {
      if (reading) {
        readers.add(reading);
        (reading.followed ??= new Set()).add(readers);
      }
      return value;
    },
    set value(next) {
      if (next === value) return;
      value = next;
      for (const reader of [...readers]) reader.forceUpdate();
    },
  };
}

/** Runs it now and whenever something that it reads has changed. */
export function effect(act: () => void): void {
  const reader: Reader = {
    forceUpdate() {
      const before = reading;
      reading = reader;
      act();
      reading = before;
    },
  };
  reader.forceUpdate();
}
