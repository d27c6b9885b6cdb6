import { expect, test } from "vitest";
import { strftime } from "../../src/text/strftime.ts";

test.each([
  // Values of Python 3.11's datetime.strftime.
  [
    new Date(2025, 6, 10, 12),
    "%d %B %Y|%d %b %Y|%Y-%m-%d|%a %A|%H %I %p|%j %U %W|%G-W%V-%u|%w|%y",
    "10 July 2025|10 Jul 2025|2025-07-10|Thu Thursday|12 12 PM|191 27 27|2025-W28-4|4|25",
  ],
  [
    new Date(2021, 0, 3, 0, 5, 9),
    "%G-W%V-%u|%U %W %j|%I:%M:%S %p|%-d %-I|%e|%D %T|%F %R",
    "2020-W53-7|01 00 003|12:05:09 AM|3 12| 3|01/03/21 00:05:09|2021-01-03 00:05",
  ],
  [new Date(2024, 11, 31, 23, 59), "%c|%x %X|%%|%Q", "Tue Dec 31 23:59:00 2024|12/31/24 23:59:00|%|%Q"],
])("%s", (date, format, expected) => {
  expect(strftime(date, format)).toBe(expected);
});
