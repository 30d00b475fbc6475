/** Replaces properties. Returns a function that restores the former ones. */
export function replaceProperties(target: object, values: Record<string, unknown>): () => void {
  const former = Object.keys(values).map((name) => ({
    name,
    descriptor: Object.getOwnPropertyDescriptor(target, name),
  }));
  for (const [name, value] of Object.entries(values))
    Object.defineProperty(target, name, { value, writable: true, configurable: true });
  return () => {
    for (const { name, descriptor } of former)
      if (descriptor) Object.defineProperty(target, name, descriptor);
      else Reflect.deleteProperty(target, name);
  };
}
