import Foundation
import Testing

@testable import CloudKitUI

/// Codes against those of another encoder, the library `qrcode` of Python (level M, bytes).
@Suite(.timeLimit(.minutes(20))) struct QRCodeTests {
    /// A text as bytes, a mask, and the rows of its code.
    private struct Vector {
        let bytes: [UInt8]
        let mask: Int
        let rows: [String]

        init(_ file: URL) throws {
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
            bytes = stride(from: 0, to: lines[0].count, by: 2).compactMap { start in
                UInt8(lines[0].dropFirst(start).prefix(2), radix: 16)
            }
            mask = try #require(Int(lines[1]))
            rows = Array(lines.dropFirst(2))
        }

        static var all: [Vector] {
            get throws {
                let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
                    "Vectors")
                let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
                return try files.map { try Vector($0) }
            }
        }
    }

    private func rows(_ code: QRCode) -> [String] {
        code.modules.map { row in String(row.map { $0 ? "#" : "." }) }
    }

    @Test func `codes of all masks and of several versions are those of another encoder`() throws {
        let vectors = try Vector.all
        #expect(vectors.count == 13)
        for vector in vectors {
            let code = try #require(QRCode(vector.bytes, mask: vector.mask))
            #expect(rows(code) == vector.rows)
        }
    }

    @Test func `the mask that is chosen is one of the eight`() throws {
        for vector in try Vector.all {
            let chosen = try #require(QRCode(vector.bytes))
            #expect((0..<8).contains { QRCode(vector.bytes, mask: $0)?.modules == chosen.modules })
        }
    }

    @Test func `every length has a code until there is no room`() throws {
        var last = 0
        for count in stride(from: 0, through: 2953, by: 211) + [2331, 2332, 2953] {
            let code = try #require(QRCode([UInt8](repeating: 97, count: count), mask: 0))
            #expect(code.modules.count == code.side && (code.side - 17) % 4 == 0)
            last = max(last, code.side)
        }
        #expect(last == 177)
        #expect(QRCode([UInt8](repeating: 97, count: 2954)) == nil)
    }

    @Test func `the path and the lines draw the modules`() throws {
        let code = try #require(QRCode(Array("A".utf8), mask: 0))
        #expect(code.path.hasPrefix("M4 4h7v1h-7z"))
        #expect(code.sideWithMargin == 29)
        #expect(code.lines.count == 13)
        #expect(code.lines.allSatisfy { $0.count == 25 })
        let dark = code.modules.reduce(0) { $0 + $1.count { $0 } }
        let drawn = code.path.split(separator: "h").dropFirst().compactMap { part in
            Int(part.prefix { $0.isNumber })
        }.reduce(0, +)
        #expect(drawn == dark)
    }
}
