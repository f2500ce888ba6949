// Charts by day or time: stacked bars or lines, drawn as SVG. A month is thirty points and a year 366: a
// drawing library would cost more than it does (docs/decisions/dashboard-stack.md). The cursor
// follows the pointer and the arrow keys; the same numbers always stand in a table nearby.
import type { RefObject } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { longDay, longMonth, shortDay } from '../lib/dates';
import { Decimal, sum } from '../lib/decimal';
import { formatFor } from './money';

export interface Series {
  name: string;
  values: (Decimal | null)[];
}

export type Step = 'day' | 'week' | 'month' | 'five minutes' | 'hour' | 'six hours';

interface ChartProps {
  title: string;
  days: string[];
  series: Series[];
  kind: 'bars' | 'lines';
  /** USD; else counts, whose axis has whole numbers only. */
  money: boolean;
  /** Every digit of amounts, not whole cents. */
  exact?: boolean;
  height?: number;
  /** Of what is drawn at the end: "so far" for a day that is not over. */
  lastNote?: string;
  /** What each of `days` stands for; it is that period's first day, or its time. */
  step?: Step;
}

export function periodName(step: Step | undefined, at: string): string {
  if (at.length > 10) return `${longDay(at.slice(0, 10))}, ${at.slice(11, 16)}`;
  if (step === 'week') return `Week of ${longDay(at)}`;
  return step === 'month' ? longMonth(at) : longDay(at);
}

/** Below the axis, where there is room for a word. */
function shortName(step: Step | undefined, at: string): string {
  const isTime = at.length > 10 && step !== 'six hours';
  return isTime ? at.slice(11, 16) : shortDay(at.slice(0, 10));
}

const margin = { top: 8, right: 4, bottom: 22, left: 56 };

/** 1, 2 or 5 times a power of ten, so that at most five steps reach `most`; in millionths. */
function stepFor(most: bigint, whole: boolean): bigint {
  for (let power = whole ? 1_000_000n : 1n; ; power *= 10n)
    for (const times of [1n, 2n, 5n]) if (times * power * 5n >= most) return times * power;
}

const millionths = (value: Decimal): bigint => value.rounded(6).units;

interface Scale {
  ticks: bigint[];
  y: (value: bigint) => number;
}

function scaleFor(least: bigint, most: bigint, height: number, whole: boolean): Scale {
  const reach = most > -least ? most : -least;
  const step = stepFor(reach > 0n ? reach : 1_000_000n, whole);
  const top = ((most + step - 1n) / step) * step || step;
  const bottom = least < 0n ? -((-least + step - 1n) / step) * step : 0n;
  const ticks: bigint[] = [];
  for (let at = bottom; at <= top; at += step) ticks.push(at);
  const inner = height - margin.top - margin.bottom;
  const y = (value: bigint) =>
    margin.top + (inner * Number(((top - value) * 10_000n) / (top - bottom))) / 10_000;
  return { ticks, y };
}

/** The lowest and the highest that is drawn: of stacks for bars, of values for lines. */
function extent({ series, days, kind }: ChartProps): [bigint, bigint] {
  let least = 0n;
  let most = 0n;
  for (let i = 0; i < days.length; i++) {
    let up = 0n;
    let down = 0n;
    for (const { values } of series) {
      const value = values[i] ? millionths(values[i]!) : 0n;
      if (kind === 'lines') [up, down] = [value > up ? value : up, value < down ? value : down];
      else if (value > 0n) up += value;
      else down += value;
    }
    if (up > most) most = up;
    if (down < least) least = down;
  }
  return [least, most];
}

function useWidth(): [RefObject<HTMLDivElement | null>, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.max(220, Math.floor(entry.contentRect.width)));
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return [box, width];
}

interface Frame {
  scale: Scale;
  left: (i: number) => number;
  slot: number;
}

function Bars({ props, frame }: { props: ChartProps; frame: Frame }) {
  const wide = Math.max(1, Math.min(frame.slot * 0.72, 34));
  return (
    <>
      {props.days.map((day, i) => {
        let up = 0n;
        let down = 0n;
        return props.series.map((series, s) => {
          const value = series.values[i] ? millionths(series.values[i]!) : 0n;
          if (value === 0n) return null;
          const from = value > 0n ? up : down;
          if (value > 0n) up += value;
          else down += value;
          const [a, b] = [frame.scale.y(from), frame.scale.y(from + value)];
          return (
            <rect
              key={`${day} ${series.name}`}
              class={`bar s${(s % 6) + 1}`}
              x={frame.left(i) + (frame.slot - wide) / 2}
              y={Math.min(a, b)}
              width={wide}
              height={Math.max(1, Math.abs(a - b) - (props.series.length > 1 ? 0.5 : 0))}
              rx={Math.min(2, wide / 3)}
            />
          );
        });
      })}
    </>
  );
}

function Lines({ props, frame }: { props: ChartProps; frame: Frame }) {
  return (
    <>
      {props.series.map((series, s) => {
        let pen = 'M';
        const colour = `s${(s % 6) + 1}`;
        const at = (value: Decimal, i: number) =>
          [frame.left(i) + frame.slot / 2, frame.scale.y(millionths(value))] as const;
        const path = series.values
          .map((value, i) => {
            if (!value) {
              pen = 'M';
              return '';
            }
            const [x, y] = at(value, i);
            const point = `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
            pen = 'L';
            return point;
          })
          .join('');
        return (
          <g key={series.name}>
            <path class={`line ${colour}`} d={path} />
            {series.values.map((value, i) => {
              // A day between two days without a value has no line.
              if (!value || series.values[i - 1] || series.values[i + 1]) return null;
              const [cx, cy] = at(value, i);
              return <circle key={props.days[i]} class={`point ${colour}`} cx={cx} cy={cy} r={4} />;
            })}
          </g>
        );
      })}
    </>
  );
}

/** Labels without the cents where none of them has any. */
function labelsOf(ticks: bigint[], money: boolean): string[] {
  const format = formatFor(money, true);
  const texts = ticks.map(tick => format(Decimal.of(tick).dividedBy(Decimal.of(1_000_000), 6)!));
  return texts.every(text => text.endsWith('.00')) ? texts.map(text => text.slice(0, -3)) : texts;
}

function Axes({ props, frame, width }: { props: ChartProps; frame: Frame; width: number }) {
  const height = props.height ?? 220;
  const every = Math.max(1, Math.ceil(props.days.length / Math.max(2, Math.floor(width / 90))));
  const labels = labelsOf(frame.scale.ticks, props.money);
  return (
    <>
      {frame.scale.ticks.map((tick, n) => (
        <g key={String(tick)}>
          <line
            class="grid"
            x1={margin.left}
            x2={width - margin.right}
            y1={frame.scale.y(tick)}
            y2={frame.scale.y(tick)}
          />
          <text class="axis" x={margin.left - 8} y={frame.scale.y(tick) + 4} text-anchor="end">
            {labels[n]}
          </text>
        </g>
      ))}
      {props.days.map((day, i) =>
        (props.days.length - 1 - i) % every === 0 && i * frame.slot + frame.slot / 2 > 14 ? (
          <text
            key={day}
            class="axis"
            x={Math.min(frame.left(i) + frame.slot / 2, width - 18)}
            y={height - 4}
            text-anchor="middle"
          >
            {shortName(props.step, day)}
          </text>
        ) : null,
      )}
    </>
  );
}

function describe(props: ChartProps, i: number): string {
  const { days, series, money, exact, kind } = props;
  const format = formatFor(money, exact);
  const parts = series
    .filter(s => s.values[i])
    .map(s => `${series.length > 1 ? `${s.name}: ` : ''}${format(s.values[i]!)}`);
  const total =
    kind === 'bars' && series.length > 1
      ? `, together ${format(sum(series.map(s => s.values[i] ?? Decimal.zero)))}`
      : '';
  return `${periodName(props.step, days[i]!)}: ${parts.join(', ') || 'nothing'}${total}`;
}

function Tip({
  props,
  at,
  frame,
  width,
}: {
  props: ChartProps;
  at: number;
  frame: Frame;
  width: number;
}) {
  const left = frame.left(at) + frame.slot;
  const shown = props.series.filter(series => series.values[at]);
  const format = formatFor(props.money, props.exact);
  const tip = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const room = tip.current!.offsetWidth + 12;
    const x = left + room > width ? Math.max(0, frame.left(at) - room) : left + 8;
    tip.current!.style.transform = `translateX(${x}px)`;
  });
  return (
    <div class="tip" ref={tip} aria-hidden="true">
      <strong>
        {periodName(props.step, props.days[at]!)}
        {at === props.days.length - 1 && props.lastNote ? ` (${props.lastNote})` : ''}
      </strong>
      {shown.map(series => (
        <div class="tip-row" key={series.name}>
          <span>
            <i class={`swatch s${(props.series.indexOf(series) % 6) + 1}`} /> {series.name}
          </span>
          <span>{format(series.values[at]!)}</span>
        </div>
      ))}
      {!shown.length && <div class="quiet">Nothing</div>}
      {props.kind === 'bars' && shown.length > 1 && (
        <div class="tip-row">
          <span>Together</span>
          <span>{format(sum(shown.map(series => series.values[at]!)))}</span>
        </div>
      )}
    </div>
  );
}

export function Chart(props: ChartProps) {
  const { days, series, title } = props;
  const height = props.height ?? 220;
  const [box, width] = useWidth();
  const [at, setAt] = useState<number | null>(null);
  const id = useId();
  const [least, most] = extent(props);
  const slot = (width - margin.left - margin.right) / Math.max(1, days.length);
  const frame: Frame = {
    scale: scaleFor(least, most, height, !props.money),
    left: i => margin.left + i * slot,
    slot,
  };
  const cursor = at !== null && at < days.length ? at : null;
  const keys = (event: KeyboardEvent) => {
    const last = days.length - 1;
    const to = {
      ArrowLeft: (cursor ?? days.length) - 1,
      ArrowRight: (cursor ?? -1) + 1,
      Home: 0,
      End: last,
    };
    if (event.key === 'Escape') setAt(null);
    if (!(event.key in to)) return;
    event.preventDefault();
    setAt(Math.min(last, Math.max(0, to[event.key as keyof typeof to])));
  };
  return (
    <figure class="stack-small">
      <div class="chart" ref={box}>
        <svg
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          tabIndex={0}
          aria-label={`${title}, chart by ${props.step ?? 'day'}. Arrow keys read the values.`}
          aria-describedby={id}
          onKeyDown={keys}
          onBlur={() => setAt(null)}
          onPointerLeave={() => setAt(null)}
          onPointerMove={event => {
            const x =
              event.clientX - event.currentTarget.getBoundingClientRect().left - margin.left;
            const i = Math.floor(x / slot);
            setAt(i >= 0 && i < days.length ? i : null);
          }}
        >
          <Axes props={props} frame={frame} width={width} />
          {cursor !== null && (
            <rect
              class="cursor"
              x={frame.left(cursor)}
              y={margin.top}
              width={slot}
              height={height - margin.top - margin.bottom}
            />
          )}
          {props.kind === 'bars' ? (
            <Bars props={props} frame={frame} />
          ) : (
            <Lines props={props} frame={frame} />
          )}
        </svg>
        {cursor !== null && <Tip props={props} at={cursor} frame={frame} width={width} />}
      </div>
      <div id={id} class="unseen" aria-live="polite">
        {cursor !== null && describe(props, cursor)}
      </div>
      {series.length > 1 && (
        <ul class="legend-list" aria-label="Legend">
          {series.map((one, s) => (
            <li key={one.name}>
              <i class={`swatch s${(s % 6) + 1}`} />
              {one.name}
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}
