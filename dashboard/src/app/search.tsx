// The search field of every page. One thing that is found is opened, several are listed.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Problem } from '../lib/http';
import { Button, Loading, ProblemNotice } from '../ui/basics';
import { Chosen } from '../ui/chosen';
import { actAs } from './acting';
import { find, partnersMost, type Answer, type Found } from './find';
import { address, navigate } from './router';

/** `/` is a letter where somebody types, and a dialog is not left by it. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && !!target.closest('input, textarea, select, dialog');
}

function useSlash(go: () => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      go();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, []);
}

function Nothing({ text, left }: { text: string; left: number }) {
  return (
    <p>
      <strong>Nothing found for “{text}”.</strong>{' '}
      {left
        ? `URLs of the ${partnersMost} newest partners were searched, not of the other ${left}.`
        : 'Ids must be complete. An event without a callback, such as a survey start, is not in the log.'}
    </p>
  );
}

function Entry({ one, open }: { one: Found; open: (one: Found) => void }) {
  return (
    <li class="row">
      <span class="quiet">{one.kind}</span>
      {one.viewAs ? (
        <Button size="small" onClick={() => open(one)}>
          <span>
            <Chosen text={one.title} />: view as{' '}
            <Chosen text={one.viewAs.Name || one.viewAs.PartnerId} />
          </span>
        </Button>
      ) : (
        <a href={one.href}>{one.title}</a>
      )}
    </li>
  );
}

export function Search() {
  const [text, setText] = useState('');
  const [asked, setAsked] = useState('');
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const asking = useRef<AbortController | null>(null);
  const clear = () => {
    asking.current?.abort();
    setAsked('');
    setAnswer(null);
    setProblem(null);
  };
  useSlash(() => input.current?.focus());
  useEffect(clear, [address.value]);

  const open = async (one: Found) => {
    try {
      if (one.viewAs) await actAs(one.viewAs.PartnerId, one.href);
      else navigate(one.href);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setProblem(error);
    }
  };
  const search = async () => {
    const wanted = text.trim();
    clear();
    if (!wanted) return;
    const abort = (asking.current = new AbortController());
    setAsked(wanted);
    try {
      const given = await find(wanted, abort.signal);
      if (abort.signal.aborted) return;
      setAnswer(given);
      const [only, ...others] = given.found;
      if (only && !others.length && !only.viewAs) await open(only);
    } catch (error) {
      if (abort.signal.aborted) return;
      if (!(error instanceof Problem)) throw error;
      setProblem(error);
    }
  };
  return (
    <form
      class="search"
      role="search"
      onSubmit={event => {
        event.preventDefault();
        void search();
      }}
      onKeyDown={event => event.key === 'Escape' && clear()}
    >
      <input
        ref={input}
        class="input"
        type="search"
        aria-label="Search callbacks"
        aria-keyshortcuts="/"
        placeholder="EventId, RewardId, PanelistId or URL (press /)"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={event => setText(event.currentTarget.value)}
      />
      <div class="search-answer" role="status">
        {asked && !answer && !problem && <Loading what="Searching" />}
        <ProblemNotice problem={problem} />
        {answer?.found.length === 0 && <Nothing text={asked} left={answer.left} />}
        {answer && answer.found.length > 0 && (
          <ul class="stack-small" aria-label="Found">
            {answer.found.map(one => (
              <Entry
                key={`${one.kind} ${one.viewAs?.PartnerId} ${one.href} ${one.title}`}
                one={one}
                open={found => void open(found)}
              />
            ))}
          </ul>
        )}
      </div>
    </form>
  );
}
