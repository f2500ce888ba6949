// What the overview asks: today and yesterday for the pace, the last thirty days for the rest.
import type { Query } from '../../lib/ask';
import { addDays } from '../../lib/dates';

export const firstDay = (today: string) => addDays(today, -29);

export function overviewQuestions(today: string): [string, Query][] {
  const query = { startDate: firstDay(today), endDate: today };
  return [
    ...[today, addDays(today, -1)].map((day): [string, Query] => ['/api/v1/intraday', { day }]),
    ['/api/v1/reports/arpdau', query],
    ['/api/v1/reports/survey-attempts', query],
    ['/api/v1/reports/conversions', query],
  ];
}
