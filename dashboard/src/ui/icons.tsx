// Line icons of our own, 24 by 24; decoration only, so hidden from screen readers.
const paths = {
  overview: 'M4 13h6V4H4zM14 20h6V11h-6zM4 20h6v-3H4zM14 7h6V4h-6z',
  reports: 'M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6',
  statements: 'M6 3h12v18l-3-2-3 2-3-2-3 2zM9 8h6M9 12h6',
  callbacks: 'M4 7h13l-3-3M20 17H7l3 3',
  apps: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM16.5 13v7M13 16.5h7',
  console: 'M4 5h16v14H4zM7.5 9.5l3 2.5-3 2.5M13 15h4',
  keys: 'M14.5 9.5a4 4 0 1 0-3.6 4L13 15h2v2h2v2h3v-3l-5.6-5.6z',
  docs: 'M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6',
  people:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c.6-3.6 3.2-5.5 6.5-5.5s5.900 1.900 6.500 5.500M16 4.500a3.500 3.500 0 0 1 0 6.200M18 15c2 .8 3.200 2.500 3.600 5',
  audit: 'M9 4h6v3H9zM7 5.500H5V21h14V5.500h-2M8.500 12h7M8.500 16h5',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 20.500c.8-4 4-6 8-6s7.200 2 8 6',
  system: 'M3 12h4l2.500-7 4.500 14 2.500-7H21',
  partners: 'M4 21V6l8-3v18M12 9h8v12M7.500 9v0M7.500 13v0M7.500 17v0M16 13v0M16 17v0M2 21h20',
  reward:
    'M12 3l2.700 5.600 6.100.8-4.500 4.200 1.100 6.100L12 16.800 6.600 19.700l1.100-6.100L3.200 9.400l6.100-.8z',
  erase: 'M5 7h14M9 7V4h6v3M7 7l1 14h8l1-14M10 11v6M14 11v6',
  warn: 'M12 4l9 16H3zM12 10v4M12 17v.01',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  next: 'M9 5l7 7-7 7',
  check: 'M5 12.500l4.500 4.500L19 7.500',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M4.900 4.900l1.400 1.400M17.700 17.700l1.400 1.400M2 12h2M20 12h2M4.900 19.100l1.400-1.400M17.700 6.300l1.400-1.400',
  moon: 'M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z',
  screen: 'M3 5h18v11H3zM8 20h8M12 16v4',
};

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

export function Mark() {
  return (
    <svg class="mark" width="28" height="28" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#4f46e5" />
      <path
        d="M9 23V9h8.2a5 5 0 0 1 0 10H13"
        fill="none"
        stroke="#fff"
        stroke-width="3"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
      <circle cx="23" cy="23" r="2.4" fill="#a5b4fc" />
    </svg>
  );
}
