// Formats durations, moments and sizes for people.

import { t } from "./translations.js";

const ALMOST_A_SECOND = 0.9995;

/** Format a duration as the pages of the server do (``usage_numbers.format_seconds``). */
export function formatSeconds(elapsed) {
  if (elapsed < ALMOST_A_SECOND) return t("{n} ms", { n: Math.max(elapsed ? 1 : 0, Math.round(elapsed * 1000)) });
  if (elapsed < 60) return t("{n} s", { n: elapsed.toFixed(elapsed >= 10 ? 1 : 2) });
  const seconds = Math.round(elapsed);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return t("{minutes} min {seconds} s", { minutes, seconds: seconds % 60 });
  return t("{hours} h {minutes} min", { hours: Math.floor(minutes / 60), minutes: minutes % 60 });
}

export function formatBytes(size) {
  if (size == null) return "";
  return size < 1000 ? `${size} B` : size < 1e6 ? `${(size / 1000).toFixed(1)} kB` : `${(size / 1e6).toFixed(1)} MB`;
}

const CLOCK = { hour: "numeric", minute: "2-digit" }; // as the pages of the server have it: 3:42 PM

/** Format the time of day of a moment (unix seconds). */
export const formatClock = (moment) => new Date(moment * 1000).toLocaleTimeString([], CLOCK);

/** Format a moment (unix seconds): the time, and the day if it is another one than today's. */
export function formatTime(moment) {
  const date = new Date(moment * 1000);
  const day = date.toDateString() === new Date().toDateString() ? {} : { day: "numeric", month: "short" };
  return date.toLocaleString([], { ...day, ...CLOCK });
}

const KILO = 1024;

/** Format the size of a file as the pages of the server do. */
export function formatFileSize(bytes) {
  if (bytes < KILO) return `${bytes} B`;
  const units = ["KB", "MB", "GB"];
  let value = bytes;
  let unit = -1;
  while (value >= KILO && unit < units.length - 1) {
    value /= KILO;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Return the day of an ISO moment in the reader's language: "3 Mar 2026". */
export function formatDay(moment) {
  return new Date(moment).toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" });
}
