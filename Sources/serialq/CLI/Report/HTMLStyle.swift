/// The style of the page for wide and narrow screens, and dark mode.
enum HTMLStyle {
  /// A pattern for each state in addition to its color, for print and for color-blind readers.
  static let patterns: HTML = """
    <svg class="defs" width="0" height="0" aria-hidden="true"><defs>
    \(pattern("failed", "M-2 2l4-4M0 8l8-8M6 10l4-4"))
    \(pattern("killed", "M0 0l8 8M0 8l8-8"))
    \(pattern("timed-out", "M2 0v8M6 0v8"))
    \(pattern("interrupted", "M2 1v2M6 5v2"))
    \(pattern("running", "M0 0l4 4l-4 4"))
    \(pattern("cancelled", "M0 2h8M0 6h8"))
    </defs></svg>
    """

  private static func pattern(_ name: String, _ path: String) -> HTML {
    """
    <pattern id="\(name)" width="8" height="8" patternUnits="userSpaceOnUse"><path \
    class="in-\(name)" d="\(path)"/></pattern>
    """
  }

  static let sheet: HTML = """
    :root {
      color-scheme: light dark;
      --page: #f6f5f2; --card: #fff; --ink: #1c1e21; --soft: #5a606b; --line: #dedbd4;
      --grid: #eceae5; --cut: #d3cec2; --good: #2f7d52; --bad: #bf3227; --late: #a35a05;
      --lost: #7d3fa6; --busy: #1f5fb5; --off: #6d737e;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --page: #131518; --card: #1b1e22; --ink: #e9e7e2; --soft: #a3a9b4; --line: #32363d;
        --grid: #262a2f; --cut: #4a515b; --good: #58b983; --bad: #f2766a; --late: #e3a14c;
        --lost: #c792ea; --busy: #75adf8; --off: #969daa;
      }
    }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--page); color: var(--ink);
      font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
    main { max-width: 76rem; margin: 0 auto; padding: 2rem 1.5rem 4rem; }
    h1 { font-size: 2rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
    h1 span { color: var(--soft); font-weight: 400; }
    h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; }
    h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
    p { margin: .25rem 0; }
    .lead { font-size: 1.2rem; margin: .35rem 0; }
    .lead::first-letter { text-transform: uppercase; }
    .lead.trouble { color: var(--bad); font-weight: 600; }
    .soft { color: var(--soft); }
    .note { border: 1px solid var(--late); border-left-width: 6px; border-radius: 4px;
      padding: .5rem .75rem; margin: 1rem 0 0; background: var(--card); }
    code, pre, .title, h3 bdi { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo,
      Consolas, monospace; font-size: .9em; }
    a { color: inherit; font-weight: 600; }
    .tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr));
      gap: .6rem; margin: 0; }
    .tiles div { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
      padding: .6rem .8rem; }
    dt { color: var(--soft); font-size: .85rem; display: flex; gap: .35rem; align-items: center; }
    dd { margin: 0; white-space: nowrap; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
    .legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; list-style: none; margin: 0 0 .6rem;
      padding: 0; color: var(--soft); font-size: .85rem; }
    svg { display: block; overflow: visible; }
    .defs { position: absolute; }
    .swatch { display: inline-block; vertical-align: -3px; flex: none; }
    table { width: 100%; table-layout: fixed; border-collapse: collapse; background: var(--card);
      border: 1px solid var(--line); border-radius: 8px; margin-bottom: .5rem; }
    th { text-align: left; font-size: .8rem; font-weight: 500; color: var(--soft);
      padding: .4rem .5rem; position: sticky; top: 0; background: var(--card); z-index: 1; }
    th:nth-child(1) { width: 4.5rem; text-align: right; }
    th:nth-child(2) { width: 36%; }
    th:nth-child(3) { width: 8.4rem; }
    th:nth-child(4) { width: 5.2rem; text-align: right; }
    td { padding: .1rem .5rem; border-top: 1px solid var(--grid); font-size: .88rem;
      white-space: nowrap; overflow: hidden; }
    td.title bdi { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2;
      overflow: hidden; white-space: normal; overflow-wrap: anywhere; }
    .id, .time { text-align: right; font-variant-numeric: tabular-nums; }
    td.chart, th.chart { padding: 0 1rem; overflow: visible; }
    .chart text { font-size: 11px; fill: var(--soft); font-variant-numeric: tabular-nums;
      paint-order: stroke; stroke: var(--card); stroke-width: 4px; }
    rect { stroke-width: 1.5px; }
    .succeeded { fill: var(--good); stroke: var(--good); }
    .failed { fill: url(#failed); stroke: var(--bad); }
    .killed { fill: url(#killed); stroke: var(--bad); }
    .timed-out { fill: url(#timed-out); stroke: var(--late); }
    .interrupted { fill: url(#interrupted); stroke: var(--lost); }
    .running { fill: url(#running); stroke: var(--busy); }
    .cancelled { fill: url(#cancelled); stroke: var(--off); }
    .skipped { fill: none; stroke: var(--off); }
    .waiting { fill: none; stroke: var(--off); stroke-dasharray: 2.5 2.5; }
    pattern path { fill: none; stroke-width: 2px; }
    .in-failed, .in-killed { stroke: var(--bad); }
    .in-timed-out { stroke: var(--late); }
    .in-interrupted { stroke: var(--lost); }
    .in-running { stroke: var(--busy); }
    .in-cancelled { stroke: var(--off); }
    .cut { fill: var(--cut); stroke: var(--off); stroke-width: 1px; stroke-dasharray: 2 3;
      vector-effect: non-scaling-stroke; }
    #behind { overflow: hidden; }
    .faint { opacity: .35; }
    .tooltip { fill: transparent; }
    article { margin-top: .8rem; background: var(--card); border: 1px solid var(--line);
      border-left: 6px solid var(--bad); border-radius: 8px; padding: .8rem 1rem; }
    article .id { color: var(--soft); font-weight: 400; }
    pre { margin: .5rem 0; padding: .6rem .8rem; background: var(--page); border-radius: 6px;
      white-space: pre-wrap; overflow-wrap: anywhere; max-height: 26rem; overflow: auto; }
    @media screen and (max-width: 56rem) {
      table, thead, tbody { display: block; }
      thead { position: sticky; top: 0; z-index: 1; }
      tr { display: grid; grid-template-columns: auto 1fr auto auto; column-gap: .6rem;
        padding: .4rem .7rem; border-top: 1px solid var(--line); align-items: baseline; }
      thead tr { border: 0; padding-bottom: 0; background: var(--card); }
      th { display: none; position: static; padding: 0; }
      th.chart { display: block; }
      td { border: 0; padding: 0; }
      td.id { text-align: left; color: var(--soft); }
      td.chart, th.chart { grid-column: 1 / -1; padding: 0; }
    }
    """
}
