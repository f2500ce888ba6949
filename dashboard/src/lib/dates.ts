// Times are UTC, as in the reports; what the clock on the wall says stands beside.

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const two = (n: number) => String(n).padStart(2, '0');

export const dayMs = 86_400_000;

/** "2026-11-21" */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

export function addDays(day: string, count: number): string {
  return dayOf(new Date(Date.parse(`${day}T00:00:00Z`) + count * dayMs));
}

/** Both inclusive. */
export function daysBetween(first: string, last: string): string[] {
  const days: string[] = [];
  for (let day = first; day <= last; day = addDays(day, 1)) days.push(day);
  return days;
}

/** "21 Nov" */
export function shortDay(day: string): string {
  const [, month = '1', date = '1'] = day.split('-');
  return `${Number(date)} ${months[Number(month) - 1]}`;
}

/** "21 Nov 2026" */
export function longDay(day: string): string {
  return `${shortDay(day)} ${day.slice(0, 4)}`;
}

/** "Nov 2026" */
export function longMonth(day: string): string {
  return longDay(day).split(' ').slice(1).join(' ');
}

/** "14:03:22" in UTC */
export function utcTime(time: Date): string {
  return time.toISOString().slice(11, 19);
}

export function utcDayTime(time: Date): string {
  return `${longDay(dayOf(time))}, ${utcTime(time)} UTC`;
}

/** "15:03", or with its day where that is another one; null where local time is UTC. */
export function localBeside(time: Date): string | null {
  if (time.getTimezoneOffset() === 0) return null;
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
  const sameDay = time.getDate() === time.getUTCDate();
  return sameDay ? clock : `${time.getDate()} ${months[time.getMonth()]} ${clock}`;
}

/** "340 ms", "4.2 s", "3 min", "5 h", "2 days" */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 2 * dayMs) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / dayMs)} days`;
}

/** "just now", "3 min ago", "in 5 h" */
export function relative(time: Date, now = new Date()): string {
  const ms = time.getTime() - now.getTime();
  if (Math.abs(ms) < 2000) return 'just now';
  const seconds = Math.round(Math.abs(ms) / 1000) * 1000;
  const text = seconds < 10_000 ? `${seconds / 1000} s` : duration(seconds);
  return ms > 0 ? `in ${text}` : `${text} ago`;
}
