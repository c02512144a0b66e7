import Testing

@testable import HTTPTransfer

@Suite(.timeLimit(.minutes(20))) struct RuleTests {
    @Test func `Requests beyond the limit wait in order`() {
        var limiter = ConnectionLimiter<Int>(max: 2)
        let goes = (1...5).map { limiter.enter($0, to: "a") }
        #expect(goes == [true, true, false, false, false])
        let goesElsewhere = limiter.enter(6, to: "b")
        #expect(goesElsewhere)
        let withdrawn = (0..<2).map { _ in limiter.withdraw { $0 == 4 } }
        #expect(withdrawn == [4, nil])
        let next = (0..<4).map { _ in limiter.leave("a") }
        #expect(next == [3, 5, nil, nil])
        let goesAgain = (7...9).map { limiter.enter($0, to: "a") }
        #expect(goesAgain == [true, true, false])
        let left = limiter.clear()
        #expect(left == [9])
    }

    @Test func `A header is read line by line, and an interim one forgotten`() {
        var reader = HeaderReader()
        for line in [
            "HTTP/1.1 100 Continue\r\n", "A: 1\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "B:2\r\n", "c:  a b \t\r\n",
            "D\r\n",
            ":\r\n", "\r\n", "E: trailer\r\n",
        ] {
            let isWithinBounds = reader.read(Array(line.utf8))
            #expect(isWithinBounds)
        }
        #expect(reader.fields == ["b": "2", "c": "a b", "": ""])
    }

    @Test func `A header has a bound`() {
        var reader = HeaderReader()
        let line = Array("A: \(String(repeating: "x", count: 1000))\r\n".utf8)
        var count = 0
        while reader.read(line) { count += line.count }
        #expect(count <= HeaderReader.bytesMax && count + line.count > HeaderReader.bytesMax)
    }
}
