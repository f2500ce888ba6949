// Light, dark, or as the system says.
import { signal } from '../lib/signal';

export type Theme = 'system' | 'light' | 'dark';

const stored = localStorage.getItem('theme');
export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');

export function setTheme(chosen: Theme): void {
  theme.value = chosen;
  if (chosen === 'system') {
    localStorage.removeItem('theme');
    delete document.documentElement.dataset['theme'];
  } else {
    localStorage.setItem('theme', chosen);
    document.documentElement.dataset['theme'] = chosen;
  }
}
