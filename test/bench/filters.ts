const AMOUNT = 4_000;

const nameOf = (kind: 'TYPE' | 'CODE', number: number): string =>
  `${kind}-${String(number).padStart(7, '0')}`;

/** A text of ASCII in which the characters whose bits are set in `which` are percent-encoded. */
const spelled = (text: string, which: number): string =>
  Array.from(text, (character, at) =>
    (which >> at) & 1 ? `%${character.charCodeAt(0).toString(16)}` : character,
  ).join('');

/** One of the codes that `fill` made. */
export const filterOf = (number: number, count: number, spelling = 0): string =>
  `codeType=${nameOf('TYPE', number % Math.max(1, Math.floor(count / 10)))}&code=${spelled(nameOf('CODE', number), spelling)}`;

/** More filters than the service remembers, over all `count` codes: where there are few, each is spelled in many ways. */
export const newFilters = (count: number): string[] =>
  Array.from({ length: AMOUNT }, (_, at) =>
    filterOf(1 + ((at * 241) % count), count, Math.floor(at / 100)),
  );
