// A QR code as SVG. The encoder is loaded when one is shown.
import { useEffect, useState } from 'preact/hooks';

/** So many modules around it must be empty (ISO/IEC 18004). */
const quiet = 4;

export function QrCode({ text, label }: { text: string; label: string }) {
  const [drawn, setDrawn] = useState<{ size: number; path: string } | null>(null);
  useEffect(() => {
    // Without it there is still the key to type in.
    void import('./qr-encoder').then(({ generate }) => {
      const code = generate(text);
      let path = '';
      for (let y = 0; y < code.size; y++)
        for (let x = 0; x < code.size; x++)
          if (code.get(x, y)) path += `M${x + quiet} ${y + quiet}h1v1h-1z`;
      setDrawn({ size: code.size + 2 * quiet, path });
    });
  }, [text]);
  if (!drawn) return null;
  return (
    <svg class="qr" viewBox={`0 0 ${drawn.size} ${drawn.size}`} role="img" aria-label={label}>
      <path d={drawn.path} />
    </svg>
  );
}
