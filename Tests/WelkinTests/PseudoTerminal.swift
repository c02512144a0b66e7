import CloudUnderTest
import Foundation

/// A pseudo terminal for typed input.
struct PseudoTerminal: Sendable {
    /// The path that a program opens as its input.
    let path: String
    private let keyboard: Int32
    private let line: Int32

    init() throws {
        var (keyboard, line): (Int32, Int32) = (-1, -1)
        var name = [CChar](repeating: 0, count: 128)
        guard openpty(&keyboard, &line, &name, nil, nil) == 0 else {
            throw ChildFailure(program: "openpty", reason: String(cString: strerror(errno)))
        }
        (self.keyboard, self.line) = (keyboard, line)
        path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Types a line, which is kept until a program reads it.
    func type(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(keyboard, bytes, bytes.count)
    }

    func close() {
        _ = Foundation.close(line)
        _ = Foundation.close(keyboard)
    }
}
