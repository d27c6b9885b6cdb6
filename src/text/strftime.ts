const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  ...["January", "February", "March", "April", "May", "June", "July"],
  ...["August", "September", "October", "November", "December"],
];
const DAY_MS = 86_400_000;

const pad = (value: number, width = 2, fill = "0"): string => String(value).padStart(width, fill);

/** What each directive of C's strftime stands for, in the C locale and local time. */
const DIRECTIVES: Readonly<Record<string, (date: Date) => string>> = {
  a: (date) => DAYS[date.getDay()].slice(0, 3),
  A: (date) => DAYS[date.getDay()],
  b: (date) => MONTHS[date.getMonth()].slice(0, 3),
  B: (date) => MONTHS[date.getMonth()],
  c: (date) => strftime(date, "%a %b %e %H:%M:%S %Y"),
  C: (date) => pad(Math.floor(date.getFullYear() / 100)),
  d: (date) => pad(date.getDate()),
  D: (date) => strftime(date, "%m/%d/%y"),
  e: (date) => pad(date.getDate(), 2, " "),
  f: (date) => pad(date.getMilliseconds() * 1000, 6),
  F: (date) => strftime(date, "%Y-%m-%d"),
  g: (date) => pad(isoWeek(date).year % 100),
  G: (date) => String(isoWeek(date).year),
  h: (date) => strftime(date, "%b"),
  H: (date) => pad(date.getHours()),
  I: (date) => pad(date.getHours() % 12 || 12),
  j: (date) => pad(dayOfYear(date) + 1, 3),
  k: (date) => pad(date.getHours(), 2, " "),
  l: (date) => pad(date.getHours() % 12 || 12, 2, " "),
  m: (date) => pad(date.getMonth() + 1),
  M: (date) => pad(date.getMinutes()),
  n: () => "\n",
  p: (date) => (date.getHours() < 12 ? "AM" : "PM"),
  r: (date) => strftime(date, "%I:%M:%S %p"),
  R: (date) => strftime(date, "%H:%M"),
  s: (date) => String(Math.floor(date.getTime() / 1000)),
  S: (date) => pad(date.getSeconds()),
  t: () => "\t",
  T: (date) => strftime(date, "%H:%M:%S"),
  u: (date) => String(date.getDay() || 7),
  U: (date) => pad(Math.floor((dayOfYear(date) + 7 - date.getDay()) / 7)),
  V: (date) => pad(isoWeek(date).week),
  w: (date) => String(date.getDay()),
  W: (date) => pad(Math.floor((dayOfYear(date) + 7 - ((date.getDay() + 6) % 7)) / 7)),
  x: (date) => strftime(date, "%m/%d/%y"),
  X: (date) => strftime(date, "%H:%M:%S"),
  y: (date) => pad(date.getFullYear() % 100),
  Y: (date) => String(date.getFullYear()),
  // The date that a template asks for has no time zone in Python either.
  z: () => "",
  Z: () => "",
  "%": () => "%",
};

/**
 * Python's `datetime.now().strftime(format)` for a given moment: always English, whatever the user's language,
 * because that is what the model was trained on. `%-d` leaves out the padding. Unknown directives stay as they are.
 */
export function strftime(date: Date, format: string): string {
  return format.replace(/%(-?)([a-zA-Z%])/g, (whole, minus, letter) => {
    const directive = Object.hasOwn(DIRECTIVES, letter) ? DIRECTIVES[letter](date) : whole;
    return minus === "" ? directive : directive.replace(/^[0 ]+(?=.)/, "");
  });
}

function dayOfYear(date: Date): number {
  const day = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  return Math.round((day - Date.UTC(date.getFullYear(), 0, 1)) / DAY_MS);
}

/** ISO 8601: a week belongs to the year that its Thursday lies in. */
function isoWeek(date: Date): { year: number; week: number } {
  const weekday = (date.getDay() + 6) % 7;
  const thursday = new Date(Date.UTC(date.getFullYear(), date.getMonth(), date.getDate() - weekday + 3));
  const year = thursday.getUTCFullYear();
  return { year, week: Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / DAY_MS / 7) + 1 };
}
