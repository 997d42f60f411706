import Crypto
import POSIX
import Testing

@testable import Session

@Suite struct ConnectionTests {
  @Test func aSecretCrossesBehindItsLine() throws {
    let pipe = try Pipe()
    let number = pipe.writing.rawValue
    let sender = Connection(try System.duplicate(number))
    let receiver = Connection(pipe.intoReading())
    try sender.send(Message("passwd", ["count": "6"]))
    try sender.send(secret("sec\nre"))
    try sender.send(Message("done"))
    #expect(receiver.receive(patience: 1000)?["count"] == "6")
    guard let got = receiver.receiveSecret(6, patience: 1000) else {
      Issue.record("no secret")
      return
    }
    #expect(bytes(got) == Array("sec\nre".utf8))
    #expect(receiver.receive(patience: 1000) == Message("done"))
    #expect(receiver.receive(patience: 10) == nil)
  }
}
