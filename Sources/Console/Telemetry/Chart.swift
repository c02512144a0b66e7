/// A chart of values over time as SVG, with a table of the same values behind it.
struct Chart {
    /// One line or one row of bars.
    struct Series {
        /// The word for it.
        var name: String
        /// A value for each interval.
        var values: [Double]
    }

    /// What the chart shows.
    var title: String
    /// The beginnings of the intervals as texts.
    var labels: [String]
    /// The lines, three at most.
    var series: [Series]
    /// Writes a value.
    var format: (Double) -> String

    private static let width = 720.0
    private static let height = 160.0

    /// The chart and its table.
    var html: HTML {
        let greatest = series.flatMap(\.values).max() ?? 0
        return Tag.article(.class("chart")) {
            Tag.h3(title)
            Tag.p(.class("quiet")) {
                series.enumerated().map { index, line in
                    Tag.span(
                        .class("key k\(index)"), text: "\(line.name): \(format(line.values.reduce(0, max))) at most ")
                }
            }
            Tag.svg(
                .svg("viewBox", "0 0 \(Int(Self.width)) \(Int(Self.height))"), .role("img"), .label(title),
                .svg("preserveAspectRatio", "none")
            ) {
                series.count == 1 ? bars(series[0].values, greatest) : lines(greatest)
            }
            Tag.p(.class("axis quiet")) {
                Tag.span(labels.first ?? "")
                Tag.span(labels.last ?? "")
            }
            Tag.details {
                Tag.summary("Table")
                Part.table(
                    caption: title, columns: ["Time (UTC)"] + series.map(\.name),
                    rows: labels.indices.reversed().map { index in
                        [HTML(labels[index])] + series.map { HTML(format($0.values[index])) }
                    })
            }
        }
    }

    private func bars(_ values: [Double], _ greatest: Double) -> [HTML] {
        let step = Self.width / Double(max(values.count, 1))
        return values.enumerated().compactMap { index, value in
            guard value > 0, greatest > 0 else { return nil }
            let height = max(Self.height * value / greatest, 1)
            return Tag.rect(
                .class("k0"), .svg("x", Self.number(Double(index) * step + step * 0.1)),
                .svg("y", Self.number(Self.height - height)), .svg("width", Self.number(step * 0.8)),
                .svg("height", Self.number(height)))
        }
    }

    private func lines(_ greatest: Double) -> [HTML] {
        series.enumerated().map { index, line in
            let step = Self.width / Double(max(line.values.count - 1, 1))
            let points = line.values.enumerated().map { position, value in
                let y = greatest > 0 ? Self.height - (Self.height - 4) * value / greatest - 2 : Self.height - 2
                return "\(position == 0 ? "M" : "L")\(Self.number(Double(position) * step)) \(Self.number(y))"
            }
            return Tag.path(.class("k\(index)"), .svg("d", points.joined()))
        }
    }

    private static func number(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
