/// The cell of a location on a grid of 2^31 by 2^31, its row and column interleaved bit by bit (a Z curve).
///
/// Every square of a coarser grid is one range of codes, so a circle is a handful of ranges (B-QRY-10); a cell of the
/// finest grid is under 2 cm wide.
enum GridCode {
    private static let bits = 31

    /// The codes of the whole earth.
    static let all: Range<Int64> = 0..<(1 << 62)

    /// At most so many squares cover a circle before neighbours are joined.
    private static let squaresMax = 16

    static func code(of place: Place) -> Int64 {
        interleave(column: column(place.longitude), row: row(place.latitude))
    }

    /// Ranges of codes, in order and apart, that hold every place within `distance` metres of `center`; and others.
    static func ranges(around center: Place, within distance: Double) -> [Range<Int64>] {
        guard distance < Place.farthest / 2 else { return [all] }
        let box = center.box(within: distance)
        let rows = row(box.south)...row(box.north)
        let columns = box.spans.map { column($0.lowerBound)...max(column($0.lowerBound), columnEnd($0.upperBound)) }
        return joined(squares(rows, columns))
    }

    private static func squares(_ rows: ClosedRange<UInt32>, _ columns: [ClosedRange<UInt32>]) -> [Range<Int64>] {
        var shift: UInt32 = 0
        func steps(_ range: ClosedRange<UInt32>) -> Int {
            Int(range.upperBound >> shift) - Int(range.lowerBound >> shift) + 1
        }
        func count() -> Int { columns.reduce(0) { $0 + steps($1) * steps(rows) } }
        while shift < bits, count() > squaresMax { shift += 1 }
        var squares: [Range<Int64>] = []
        for span in columns {
            for column in (span.lowerBound >> shift)...(span.upperBound >> shift) {
                for row in (rows.lowerBound >> shift)...(rows.upperBound >> shift) {
                    let first = interleave(column: column, row: row) << Int64(2 * shift)
                    squares.append(first..<(first + 1 << Int64(2 * shift)))
                }
            }
        }
        return squares
    }

    private static func joined(_ ranges: [Range<Int64>]) -> [Range<Int64>] {
        var joined: [Range<Int64>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = joined.last, range.lowerBound <= last.upperBound {
                joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                joined.append(range)
            }
        }
        return joined
    }

    private static func row(_ latitude: Double) -> UInt32 { step(latitude, from: -90, over: 180) }

    /// The date line is one line: 180° is −180°.
    private static func column(_ longitude: Double) -> UInt32 {
        step(longitude >= 180 ? longitude - 360 : longitude, from: -180, over: 360)
    }

    private static func columnEnd(_ longitude: Double) -> UInt32 { step(longitude, from: -180, over: 360) }

    private static func step(_ degrees: Double, from low: Double, over width: Double) -> UInt32 {
        let steps = (degrees - low) / width * Double(1 << bits)
        return UInt32(min(max(steps, 0), Double(1 << bits - 1)))
    }

    private static func interleave(column: UInt32, row: UInt32) -> Int64 {
        Int64(spread(column) | spread(row) << 1)
    }

    /// The bits of a number, every second place left free.
    private static func spread(_ number: UInt32) -> UInt64 {
        var bits = UInt64(number)
        bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF
        bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF
        bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F
        bits = (bits | bits << 2) & 0x3333_3333_3333_3333
        return (bits | bits << 1) & 0x5555_5555_5555_5555
    }
}
